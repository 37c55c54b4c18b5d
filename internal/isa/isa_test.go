package isa

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestLowered(t *testing.T) {
	best := Available[len(Available)-1]
	for _, c := range []struct {
		best Level
		name string
		want Level
	}{
		{best, "", best},
		{best, "portable", Portable},
		{best, "Portable", Portable},
		{best, best.String(), best},
		{best, "sse9", best},
		{Portable, best.String(), Portable},
	} {
		if got := lowered(c.best, c.name); got != c.want {
			t.Errorf("lowered(%v, %q) = %v, want %v", c.best, c.name, got, c.want)
		}
	}
	if slices.Contains(Available, AVX512) {
		if got := lowered(AVX512, "avx2"); got != AVX2 {
			t.Errorf("avx2 lowers avx512 to %v", got)
		}
		if got := lowered(AVX2, "avx512"); got != AVX2 {
			t.Errorf("avx512 raises avx2 to %v", got)
		}
	}
}

// TestProcessor compares with what Linux says of the processor, where that is the one that runs.
func TestProcessor(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !slices.Contains(Available, AVX2) || os.Getenv("ROWVEC_EMULATED") != "" {
		t.Skip("nobody else knows the processor")
	}
	has := func(line string) bool { return regexp.MustCompile(`(?m)^` + line).Match(info) }
	zen4 := has(`vendor_id\s*: AuthenticAMD$`) && has(`cpu family\s*: 25$`) && has(`flags\s*:.* avx512f\b`)
	if Halves() != zen4 {
		t.Errorf("in halves: %v, want %v", Halves(), zen4)
	}
	if want := has(`vendor_id\s*: GenuineIntel$`); Intel() != want {
		t.Errorf("Intel's: %v, want %v", Intel(), want)
	}
}

// TestSecondLevel compares with what Linux says of the cache, where it says so.
func TestSecondLevel(t *testing.T) {
	const cache = "/sys/devices/system/cpu/cpu0/cache/index2/"
	level, _ := os.ReadFile(cache + "level")
	text, err := os.ReadFile(cache + "size")
	if err != nil || string(level) != "2\n" || SecondLevel() <= 0 || os.Getenv("ROWVEC_EMULATED") != "" {
		t.Skip("not known")
	}
	var kib int
	if n, err := fmt.Sscanf(string(text), "%dK", &kib); n != 1 || err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if SecondLevel() != kib<<10 {
		t.Errorf("%d bytes, want %d KiB", SecondLevel(), kib)
	}
}

func TestSetUndoes(t *testing.T) {
	before := Active()
	undo := Set(Portable)
	if Active() != Portable {
		t.Error("Set has not set")
	}
	undo()
	if Active() != before {
		t.Error("undo has not undone")
	}
}

func TestSetMissing(t *testing.T) {
	for level := range Level(len(names)) {
		if slices.Contains(Available, level) {
			continue
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %v", level)
				}
			}()
			Set(level)
		}()
	}
}

func TestNames(t *testing.T) {
	for level := range Level(len(names)) {
		if got, ok := Named(level.String()); got != level || !ok {
			t.Errorf("Named(%q) = %v, %v", level.String(), got, ok)
		}
	}
	if _, ok := Named("mmx"); ok {
		t.Error("mmx is known")
	}
}
