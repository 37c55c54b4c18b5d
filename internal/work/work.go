// Package work has several goroutines share what one call does, without allocating anything in steady state: a Crew is made
// once and used over and over.
package work

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Crew does ranges of the items that a call consists of. Its goroutines end with the call. Only one call at a time may use it.
type Crew struct {
	do    func(lo, hi int) error
	run   func() // kept as values, since starting a goroutine from one allocates nothing
	decoy func()

	n, least, share int64        // a range is one of so many shares of what is left of n, but no less than least
	next            atomic.Int64 // all items below have been taken
	wait            sync.WaitGroup

	mu     sync.Mutex
	failed int64 // where the lowest range that failed begins
	err    error // its error
}

// New returns a crew for items of which do does those from lo on and below hi; do must be safe for concurrent calls with
// ranges that have nothing in common.
func New(do func(lo, hi int) error) *Crew {
	c := &Crew{do: do}
	c.run = func() {
		ended := false
		defer func() {
			if !ended {
				if p := recover(); p != nil {
					panic(p) // ends the program, and so nobody may go on before it has
				}
				c.fail(c.n, errExit) // by runtime.Goexit, as t.Fatal does
			}
			c.wait.Done()
		}()
		c.work()
		ended = true
	}
	c.decoy = c.wait.Done
	return c
}

// Each returns what does the items of a range one after the other, up to the first that fails.
func Each(do func(i int) error) func(lo, hi int) error {
	return func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
}

// Most is what options bound the number of workers by: more would be goroutines that find nothing left to do.
const Most = 1024

// Busy returns how many workers find something to do where n > 0 items are shared in ranges of at least so many, which is 1 or
// more.
func Busy(workers, n, least int) int { return min(workers, (n-1)/least+1) }

// Do has items 0 to n-1 done, each once, on the calling goroutine and at most workers-1 others, and returns the error of the
// lowest range that failed. Whoever is free takes the next range, from the lowest on: half of what would be a worker's share
// of all that is left, but at least so many items, so that what takes longer or begins later is made up for at the end
// (Hummel, Schonberg and Flynn, "Factoring", 1992). One worker does all of them at once. After an error no further range
// begins, nor after a panic on the calling goroutine, which goes on once the others have ended; a panic on another ends the
// program, and runtime.Goexit there is an error. One goroutine more is started where there are several workers, which does nothing.
func (c *Crew) Do(workers, n, least int) (err error) {
	if n == 0 {
		return nil
	}
	workers = Busy(workers, n, least)
	if workers <= 1 {
		return c.do(0, n)
	}
	defer func() {
		c.next.Store(c.n)
		c.wait.Wait()
		err = c.err
	}()
	c.n, c.least, c.share, c.err = int64(n), int64(least), int64(2*workers), nil
	c.next.Store(0)
	c.wait.Add(workers)
	for range workers - 1 {
		go c.run()
	}
	// The goroutine started last is the next to run where it was started, and Go lets idle threads sleep for 3 us before they take
	// it from there, to which Linux may add its timer slack of 50. So the last one has nothing to do. On a virtual Zen 4, medians
	// of 1,000: the other begins after 22 us, and without it after 97.
	go c.decoy()
	c.work()
	return nil
}

func (c *Crew) work() {
	for {
		lo := c.next.Load()
		if lo >= c.n {
			return
		}
		hi := min(c.n, lo+max(c.least, (c.n-lo)/c.share))
		if !c.next.CompareAndSwap(lo, hi) {
			continue
		}
		if err := c.do(int(lo), int(hi)); err != nil {
			c.fail(lo, err)
		}
	}
}

// errExit is what a call returns of which a range was not done to its end.
var errExit = errors.New("rowvec: a goroutine ended while it worked")

// fail has no further range begin, and the call return err, of the range that begins with lo, unless a lower one has failed.
func (c *Crew) fail(lo int64, err error) {
	c.next.Store(c.n)
	c.mu.Lock()
	if c.err == nil || lo < c.failed {
		c.failed, c.err = lo, err
	}
	c.mu.Unlock()
}
