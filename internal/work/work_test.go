package work

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
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

// TestRanges: whoever takes them, each is half a share of what is left.
func TestRanges(t *testing.T) {
	var mu sync.Mutex
	var got [][2]int
	c := New(func(lo, hi int) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, [2]int{lo, hi - lo})
		return nil
	})
	for _, x := range []struct {
		workers, n, least int
		want              []int
	}{
		{2, 64, 3, []int{16, 12, 9, 6, 5, 4, 3, 3, 3, 3}},
		{3, 50, 5, []int{8, 7, 5, 5, 5, 5, 5, 5, 5}},
		{4, 20, 1, []int{2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		got = got[:0]
		if err := c.Do(x.workers, x.n, x.least); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b [2]int) int { return a[0] - b[0] })
		sizes := make([]int, len(got))
		for i, r := range got {
			sizes[i] = r[1]
		}
		if !slices.Equal(sizes, x.want) {
			t.Errorf("%d workers, %d items: ranges of %d, want %d", x.workers, x.n, sizes, x.want)
		}
	}
}

// TestWorkers: as many of them are at work at once as are asked for, or find something to do, and no more. Each waits until
// all others are there.
func TestWorkers(t *testing.T) {
	for _, x := range []struct{ workers, n, least, want int }{{1, 9, 1, 1}, {3, 40, 1, 3}, {8, 10, 5, 2}, {8, 11, 5, 3}, {4, 3, 5, 1}} {
		var mu sync.Mutex
		running, most := 0, 0
		all := make(chan bool)
		c := New(func(lo, hi int) error {
			mu.Lock()
			running++
			if most = max(most, running); running == x.want {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			mu.Unlock()
			select {
			case <-all:
			case <-time.After(10 * time.Second):
			}
			time.Sleep(5 * time.Millisecond) // for one too many to be seen
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		})
		if err := c.Do(x.workers, x.n, x.least); err != nil {
			t.Fatal(err)
		}
		if got := Busy(x.workers, x.n, x.least); most != x.want || got != x.want {
			t.Errorf("%d workers for %d items, at least %d: %d at once, Busy %d, want %d",
				x.workers, x.n, x.least, most, got, x.want)
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

// TestErrors has any items fail, of ranges of any size: the error is that of the lowest, and nothing is at work afterwards.
func TestErrors(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, fails, lowest := rng.IntN(300), make(map[int]bool), -1
		for range rng.IntN(4) {
			fails[rng.IntN(300)] = true
		}
		for i := n - 1; i >= 0; i-- {
			if fails[i] {
				lowest = i
			}
		}
		var over atomic.Bool
		c := New(Each(func(i int) error {
			if over.Load() {
				t.Errorf("seed %d: item %d is done after the call", seed, i)
			}
			if i%5 == 0 {
				runtime.Gosched()
			}
			if fails[i] {
				return fmt.Errorf("item %d", i)
			}
			return nil
		}))
		for range 3 {
			over.Store(false)
			err := c.Do(rng.IntN(9), n, 1+rng.IntN(20))
			over.Store(true)
			if (err != nil) != (lowest >= 0) || err != nil && err.Error() != fmt.Sprintf("item %d", lowest) {
				t.Fatalf("seed %d: error %v, want that of item %d", seed, err, lowest)
			}
		}
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

// TestNothingAfterPanic: behind a panic on the calling goroutine no further range begins.
func TestNothingAfterPanic(t *testing.T) {
	var c *Crew
	begun := make(chan bool, 100)
	c = New(func(lo, hi int) error {
		if strings.Contains(string(debug.Stack()), "testing.tRunner(") { // the calling goroutine
			<-begun
			panic("on purpose")
		}
		begun <- true
		for end := time.Now().Add(10 * time.Second); c.next.Load() < c.n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return errors.New("others would begin")
			}
		}
		return nil
	})
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		if c.err != nil {
			t.Error(c.err)
		}
	}()
	c.Do(3, 100, 1)
}

func TestNoAllocation(t *testing.T) {
	c := New(func(lo, hi int) error { return nil })
	isatest.NoAllocation(t, "Do", func() { c.Do(4, 16, 1) })
}

// TestExit: what ends a goroutine in the middle of its range, as t.Fatal does, is an error of the call.
func TestExit(t *testing.T) {
	for _, failing := range []bool{false, true} {
		other := errors.New("of a range below")
		var begun atomic.Int64
		c := New(func(lo, _ int) error {
			if lo == 0 { // the caller waits for the other to have begun
				for begun.Load() == 0 {
					runtime.Gosched()
				}
				if failing {
					return other
				}
				return nil
			}
			begun.Store(1)
			runtime.Goexit()
			return nil
		})
		// Whoever takes the first range waits, so that another takes the next; where that is the calling goroutine, it ends.
		done := make(chan error, 1)
		go func() {
			defer close(done)
			done <- c.Do(2, 2, 1)
		}()
		err, returned := <-done
		switch {
		case !returned: // the test's own goroutine was the one to end
		case failing && err != other:
			t.Errorf("got %v, want the error of the range below", err)
		case !failing && err != errExit:
			t.Errorf("got %v, want %v", err, errExit)
		}
	}
}

// TestPanicEndsTheProgram: one on another goroutine does, with its message, and the call does not return before.
func TestPanicEndsTheProgram(t *testing.T) {
	if os.Getenv("ROWVEC_PANIC") != "" {
		var begun atomic.Int64
		err := New(func(lo, _ int) error {
			for lo == 0 && begun.Load() == 0 {
				runtime.Gosched()
			}
			if lo > 0 {
				begun.Store(1)
				panic("of a worker")
			}
			return nil
		}).Do(2, 2, 1)
		fmt.Println("returned", err)
		os.Exit(3)
	}
	if isatest.Few() {
		t.Skip("it starts programs")
	}
	for range 20 {
		run := exec.Command(os.Args[0], "-test.run=TestPanicEndsTheProgram")
		run.Env = append(os.Environ(), "ROWVEC_PANIC=1")
		out, err := run.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			t.Skipf("cannot run this program again: %v", err) // as under an emulator
		}
		if strings.Contains(string(out), "returned") || !strings.Contains(string(out), "of a worker") {
			t.Fatalf("%s", out)
		}
	}
}

// BenchmarkBegin reports how long after the call the second worker begins, the fourth, and so on up to GOMAXPROCS: Go wakes one thread
// after the other, so that many workers gain little in calls that take less than that.
func BenchmarkBegin(b *testing.B) {
	workers := runtime.GOMAXPROCS(0)
	begun := make([]float64, workers)
	var n atomic.Int64
	var start time.Time
	c := New(Each(func(int) error {
		k := n.Add(1)
		begun[k-1] = float64(time.Since(start).Nanoseconds())
		for n.Load() < int64(workers) { // all are at it at once
		}
		return nil
	}))
	times := make([][]float64, workers)
	for range b.N {
		for other := time.Now(); time.Since(other) < 100*time.Microsecond; { // threads are asleep when a call begins
		}
		n.Store(0)
		start = time.Now()
		if err := c.Do(workers, workers, 1); err != nil {
			b.Fatal(err)
		}
		for k, t := range begun {
			times[k] = append(times[k], t)
		}
	}
	b.ReportMetric(0, "ns/op")
	for k := 2; k <= workers; k *= 2 {
		slices.Sort(times[k-1])
		b.ReportMetric(times[k-1][b.N/2]/1000, fmt.Sprintf("us-until-worker-%d", k))
	}
}
