package work

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowvec/rowvec/internal/isatest"
)

func TestEachItemOnce(t *testing.T) {
	var counts [100]atomic.Int32
	var n, least int
	c := New(func(lo, hi int) error {
		if hi-lo < least && hi < n || lo >= hi {
			t.Errorf("%d items, at least %d: a range of [%d, %d)", n, least, lo, hi)
		}
		for i := lo; i < hi; i++ {
			counts[i].Add(1)
		}
		return nil
	})
	for _, workers := range []int{0, 1, 2, 3, 8, 200} {
		for _, n = range []int{0, 1, 2, 7, 100} {
			for _, least = range []int{1, 3, 50, 1000} {
				for i := range counts {
					counts[i].Store(0)
				}
				if err := c.Do(workers, n, least); err != nil {
					t.Fatal(err)
				}
				for i := range counts {
					want := int32(0)
					if i < n {
						want = 1
					}
					if got := counts[i].Load(); got != want {
						t.Fatalf("%d workers, %d items, at least %d: item %d done %d times", workers, n, least, i, got)
					}
				}
			}
		}
	}
}

// TestRanges has one worker take all ranges: each is half a share of what is left.
func TestRanges(t *testing.T) {
	var mu sync.Mutex
	var got []int
	wait := make(chan bool)
	c := New(func(lo, hi int) error {
		mu.Lock()
		first := len(got) == 0
		got = append(got, hi-lo)
		mu.Unlock()
		if first {
			<-wait
		} else if hi == 64 {
			close(wait)
		}
		return nil
	})
	if err := c.Do(2, 64, 3); err != nil {
		t.Fatal(err)
	}
	if want := []int{16, 12, 9, 6, 5, 4, 3, 3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("ranges of %d items, want %d", got, want)
	}
}

// TestWorkers: no more of them than are asked for, nor than find something to do.
func TestWorkers(t *testing.T) {
	var running, most atomic.Int32
	c := New(func(lo, hi int) error {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
		return nil
	})
	for _, x := range []struct{ workers, n, least, want int }{{1, 9, 1, 1}, {3, 40, 1, 3}, {8, 10, 5, 2}, {8, 11, 5, 3}, {4, 3, 5, 1}} {
		most.Store(0)
		if err := c.Do(x.workers, x.n, x.least); err != nil {
			t.Fatal(err)
		}
		if got := Busy(x.workers, x.n, x.least); int(most.Load()) != x.want || got != x.want {
			t.Errorf("%d workers for %d items, at least %d: %d at once, Busy %d, want %d",
				x.workers, x.n, x.least, most.Load(), got, x.want)
		}
	}
}

// TestError: all below a range that failed has been done, so the lowest failing range always runs and its error wins.
func TestError(t *testing.T) {
	c := New(Each(func(i int) error {
		if i%10 == 7 {
			return fmt.Errorf("item %d", i)
		}
		return nil
	}))
	for range 200 {
		if err := c.Do(4, 50, 1); err == nil || err.Error() != "item 7" {
			t.Fatalf("error %v, want that of item 7", err)
		}
	}
	if err := c.Do(4, 7, 1); err != nil {
		t.Fatalf("an error of the call before: %v", err)
	}
}

// TestPanic: a panic on the calling goroutine goes on only when no other is at work any more.
func TestPanic(t *testing.T) {
	var running atomic.Int32
	begun := make(chan bool, 100)
	c := New(func(lo, hi int) error {
		if strings.Contains(string(debug.Stack()), "testing.tRunner(") { // the calling goroutine
			<-begun
			panic("on purpose")
		}
		running.Add(1)
		begun <- true
		time.Sleep(5 * time.Millisecond)
		running.Add(-1)
		return nil
	})
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		if n := running.Load(); n != 0 {
			t.Errorf("%d ranges are still running", n)
		}
	}()
	c.Do(3, 100, 1)
}

func TestNoAllocation(t *testing.T) {
	c := New(func(lo, hi int) error { return nil })
	isatest.NoAllocation(t, "Do", func() { c.Do(4, 16, 1) })
}
