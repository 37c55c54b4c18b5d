// Package isatest runs tests on every level of package isa that the machine has, and fails where a promised one is
// missing.
package isatest

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
)

// start is the level that the program begins with.
var start = isa.Active()

// Sampled reports that sweeps of one goroutine over shapes need only be samples at the active level, since all of it runs
// elsewhere, and here it would take minutes: under the race detector, which sees nothing of one goroutine and makes Go ten
// times slower; on emulated processors, but for arm64, since an amd64 is there to show what is dispatched to, and others run
// portable code; and for portable code beside assembly, which builds that have nothing else sweep.
func Sampled() bool {
	cached()
	return race.Enabled || Slow && runtime.GOARCH != "arm64" || isa.Active() == isa.Portable && len(isa.Available) > 1
}

// Slow is an emulated processor, where Go takes twenty times as long as elsewhere.
var Slow = os.Getenv("ROWVEC_EMULATED") != ""

// Few reports that what is made of kernels and plain Go, as layers and positions are, need only be tried in few shapes: where
// sweeps are samples, and on an emulated arm64 too.
func Few() bool { return Slow || Sampled() }

// Tune sets a variable, as those of package tuning are, until the test ends.
func Tune[T any](tb testing.TB, variable *T, value T) {
	before := *variable
	*variable = value
	tb.Cleanup(func() { *variable = before })
}

// NoAllocation fails the test if ten calls of f, once warm, allocate ten times or more. There is no garbage collection
// meanwhile, which empties pools. On an emulated arm64 a single call that does not allocate will do; under the race detector,
// where pools drop what they hold, and on other emulated processors, f is only called.
func NoAllocation(tb testing.TB, what string, f func()) {
	tb.Helper()
	if race.Enabled || Slow && runtime.GOARCH != "arm64" {
		f()
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runs, tries := 10, 1
	if Slow {
		runs, tries = tries, runs
	}
	var n float64
	for range tries { // as workers meet, pools grow
		if n = testing.AllocsPerRun(runs, f); n == 0 {
			return
		}
	}
	tb.Errorf("%s: %v allocations", what, n)
}

// KeepChanging has a goroutine make an id wrong and right again, over and over, until stop is called.
func KeepChanging(id *int64) (stop func()) {
	var stopped atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stopped.Load() {
			for range 500 {
				atomic.StoreInt64(id, -1<<40)
			}
			for range 500 {
				atomic.StoreInt64(id, 5)
			}
			runtime.Gosched()
		}
	})
	return func() {
		stopped.Store(true)
		wg.Wait()
	}
}

// Levels returns the levels that the machine has, up to that which ROWVEC_ISA lowers it to. The names that
// ROWVEC_REQUIRE_ISA lists, separated by commas, must be among them: a machine that is there to test AVX-512 must not pass
// without it. An emulated processor, and the race detector, which sees nothing of assembly, have these alone, if it lists any: others are
// quicker elsewhere.
func Levels(tb testing.TB) []isa.Level {
	tb.Helper()
	cached()
	levels := isa.Available[:slices.Index(isa.Available, start)+1]
	var required []isa.Level
	for name := range strings.SplitSeq(os.Getenv("ROWVEC_REQUIRE_ISA"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		level, known := isa.Named(name)
		if !known || !slices.Contains(levels, level) {
			tb.Fatalf("ROWVEC_REQUIRE_ISA asks for %q; this machine and build have %v", name, levels)
		}
		required = append(required, level)
	}
	if (Slow || race.Enabled) && len(required) > 0 {
		return required
	}
	return levels
}

// cached reads what has been read before tests began, so that go test, which caches results, sees what they depend on.
func cached() {
	_, _ = os.Getenv("ROWVEC_ISA"), os.Getenv("ROWVEC_EMULATED")
}

// Each runs test once for each level as a subtest named isa=LEVEL, with that level active.
func Each(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, level := range Levels(t) {
		t.Run("isa="+level.String(), func(t *testing.T) {
			defer isa.Set(level)()
			test(t)
		})
	}
}
