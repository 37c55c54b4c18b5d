package isa

import (
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

func TestHalves(t *testing.T) {
	if Halves() && !slices.Contains(Available, AVX512) {
		t.Error("a machine without AVX-512 does it in halves")
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
