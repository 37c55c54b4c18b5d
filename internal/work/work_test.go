package work

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowvec/rowvec/internal/isatest"
)

func TestEachPartOnce(t *testing.T) {
	var counts [100]atomic.Int32
	c := New(func(part int) error { counts[part].Add(1); return nil })
	for _, workers := range []int{0, 1, 2, 3, 8, 200} {
		for _, parts := range []int{0, 1, 2, 7, 100} {
			for i := range counts {
				counts[i].Store(0)
			}
			if err := c.Do(workers, parts); err != nil {
				t.Fatal(err)
			}
			for i := range counts {
				want := int32(0)
				if i < parts {
					want = 1
				}
				if n := counts[i].Load(); n != want {
					t.Fatalf("%d workers, %d parts: part %d done %d times", workers, parts, i, n)
				}
			}
		}
	}
}

// TestError: a part below every failed one has been done, so the lowest failing part always runs and its error wins.
func TestError(t *testing.T) {
	c := New(func(part int) error {
		if part%10 == 7 {
			return fmt.Errorf("part %d", part)
		}
		return nil
	})
	for range 200 {
		if err := c.Do(4, 50); err == nil || err.Error() != "part 7" {
			t.Fatalf("error %v, want that of part 7", err)
		}
	}
	if err := c.Do(4, 7); err != nil {
		t.Fatalf("an error of the call before: %v", err)
	}
}

// TestPanic: a panic on the calling goroutine goes on only when no other is at work any more.
func TestPanic(t *testing.T) {
	var running atomic.Int32
	begun := make(chan bool, 100)
	c := New(func(part int) error {
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
			t.Errorf("%d parts are still running", n)
		}
	}()
	c.Do(3, 100)
}

func TestNoAllocation(t *testing.T) {
	c := New(func(part int) error { return nil })
	isatest.NoAllocation(t, "Do", func() { c.Do(4, 16) })
}
