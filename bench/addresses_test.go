package main

import (
	"fmt"
	"testing"
	"time"
)

func TestAddresses(t *testing.T) {
	a := measureAddresses()
	t.Log(a)
	if a.Together <= 0 || a.Apart < a.Together/2 || a.Small < a.Together/2 {
		t.Errorf("%+v", a)
	}
	for _, step := range []int{64, addressStep} {
		memory := make([]uint32, addressLines*step/4)
		chase(memory, step)
		lines, place := map[uint32]bool{}, uint32(0)
		for ; memory[place] == 0; place += lineWords { // which only one place may tell, the one in front of place 0
		}
		for range addressLines {
			lines[place/uint32(step/4)] = true
			place = memory[place]
		}
		if len(lines) != addressLines {
			t.Errorf("%d bytes apart: %d of %d lines in the chain", step, len(lines), addressLines)
		}
	}
	if got, want := fmt.Sprint(addresses{4.2, 56.1, 57}), "a line out of 512 KiB: 4.20 ns; each on 4 KiB of its own: "+
		"56.1 if on pages of 2 MiB, else 57.0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSettling(t *testing.T) {
	for _, c := range []struct {
		shape shape
		want  int
	}{
		{shape{vocab: 1_000_000, dim: 64, ids: 8190, cache: "cold"}, 46}, // 62,500 pages, and a row on one
		{shape{vocab: 50257, dim: 768, ids: 128, cache: "cold"}, 1767},   // 37,692
		{shape{vocab: 16384, dim: 12288, ids: 512, cache: "cold"}, 178},  // 196,608, and a row on 13
		{shape{vocab: 10000, dim: 64, ids: 8192, cache: "held"}, 0},
		{shape{n: 1 << 25, cache: "cold"}, 0},
	} {
		if got := c.shape.settling(); got != c.want {
			t.Errorf("%s: %d calls, want %d", c.shape, got, c.want)
		}
	}
}

func TestWarmUp(t *testing.T) {
	c := comparison{sample: 4 * time.Millisecond}
	held := shape{vocab: 10000, dim: 64, ids: 8192, cache: "held"}
	cold := shape{vocab: 1_000_000, dim: 64, ids: 8190, cache: "cold"} // settles in 46 calls
	for _, test := range []struct {
		shape shape
		call  time.Duration
		want  int
	}{
		{held, 0, 16_000_001}, {held, time.Microsecond, 16_001}, {held, 100 * time.Microsecond, 161}, {held, 17 * time.Millisecond, 1},
		{cold, 100 * time.Microsecond, 161}, {cold, 500 * time.Microsecond, 46}, {cold, 2 * time.Millisecond, 32}, // in 64 ms
		{cold, time.Second, 1},
	} {
		if got := c.warmUp(test.shape, test.call); got != test.want {
			t.Errorf("%s, calls of %v: %d, want %d", test.shape, test.call, got, test.want)
		}
	}
}
