// Package work has several goroutines do the parts of one call, without allocating anything in steady state: a Crew is
// made once and used over and over.
package work

import (
	"sync"
	"sync/atomic"
)

// Crew does the parts of a call. Its goroutines end with the call. Only one call at a time may use it.
type Crew struct {
	do    func(part int) error
	run   func() // kept as values, since starting a goroutine from one allocates nothing
	decoy func()
	parts int64
	next  atomic.Int64
	wait  sync.WaitGroup

	mu     sync.Mutex
	failed int64 // the lowest part that failed
	err    error // its error
}

// New returns a crew for parts that do does; do must be safe for concurrent calls with different parts.
func New(do func(part int) error) *Crew {
	c := &Crew{do: do}
	c.run = func() {
		c.work()
		c.wait.Done()
	}
	c.decoy = c.wait.Done
	return c
}

// Most is what options bound the number of workers by: more would be goroutines that find nothing left to do.
const Most = 1024

// Do does parts 0 to parts-1, each once, on the calling goroutine and at most workers-1 others, and returns the error of
// the lowest part that failed. Whoever is free takes the next part, so parts may differ in length. After an error no
// further part begins, nor after a panic on the calling goroutine, which goes on once the others have ended; a panic on
// another ends the program.
func (c *Crew) Do(workers, parts int) (err error) {
	if parts == 1 {
		return c.do(0)
	}
	defer func() {
		c.next.Store(c.parts)
		c.wait.Wait()
		err = c.err
	}()
	c.parts, c.err = int64(parts), nil
	c.next.Store(0)
	if others := min(workers, parts) - 1; others > 0 {
		c.wait.Add(others + 1)
		for range others {
			go c.run()
		}
		// The goroutine started last is the next to run where it was started, and Go lets idle threads wait, which Linux makes
		// 60 us of, before they take it from there. So the last one has nothing to do. On a virtual Zen 4, medians of 1,000: the
		// other begins after 22 us, and without it after 97.
		go c.decoy()
	}
	c.work()
	return nil
}

func (c *Crew) work() {
	for {
		part := c.next.Add(1) - 1
		if part >= c.parts {
			return
		}
		if err := c.do(int(part)); err != nil {
			c.next.Store(c.parts)
			c.mu.Lock()
			if c.err == nil || part < c.failed {
				c.failed, c.err = part, err
			}
			c.mu.Unlock()
		}
	}
}
