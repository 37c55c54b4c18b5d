package main

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestContendersAgree has every contender of every case do the same small piece of work: ours give the bits of the naive
// loop, and other libraries, which may fuse a multiplication with an addition, give nearly those.
func TestContendersAgree(t *testing.T) {
	isatest.Levels(t)
	for i := range kernels {
		k := &kernels[i]
		if len(cases[k.name]) == 0 {
			t.Errorf("%s has no cases", k.name)
		}
		for _, s := range cases[k.name] {
			s = small(s)
			t.Run(k.name+"/"+s.String(), func(t *testing.T) {
				want := outcome(k, s, 0)
				contenders := k.contenders(&memory{})
				for c, contender := range contenders[:len(contenders)-1] { // the last one copies
					got := outcome(k, s, c)
					ours := c <= len(isa.Available)
					for i, x := range want {
						same := math.Float32bits(got[i]) == math.Float32bits(x)
						near := math.Abs(float64(got[i]-x)) <= 1e-5
						if !same && (ours || !near) {
							t.Fatalf("element %d: %s has %v, naive %v", i, contender.name, got[i], x)
						}
					}
				}
			})
		}
	}
}

// small returns a shape that does the same work in a small space.
func small(s shape) shape {
	s.vocab, s.n = min(s.vocab, 300), min(s.n, 5000)
	if s.seq > 0 {
		s.seq = min(s.seq, 8)
		s.ids = min(s.ids, 5*s.seq)
	}
	s.ids = min(s.ids, 50)
	s.cache = "warm" // one list of ids
	return s
}

// outcome returns all that there is in memory after one call of a contender.
func outcome(k *kernel, s shape, contender int) []float32 {
	m := new(arena).memory(k, s)
	c := k.contenders(m)[contender]
	defer isa.Set(c.level)()
	c.run(0)
	var all []float32
	for _, x := range [][]float32{m.table.Data, m.rows.Data, m.positions.Data, m.x, m.y, m.sums} {
		all = append(all, x...)
	}
	for _, state := range m.states {
		all = append(all, state.Data...)
	}
	if k.sparse {
		all = append(all, m.gradient.Values().Data...)
		all = append(all, m.naive.sums[:len(m.naive.ids)*s.dim]...) // one of the two is empty
	}
	return all
}

// TestNaiveCheckIDs: the yardstick of CheckIDs must not be fast by looking at nothing.
func TestNaiveCheckIDs(t *testing.T) {
	for _, bad := range []int32{-1, 10, math.MaxInt32, math.MinInt32} {
		if naiveCheckIDs([]int32{0, 9, bad}, 10) {
			t.Errorf("%d counts as valid", bad)
		}
	}
}

// TestCases: a cold case needs a table that caches do not hold, a held one a table that they do, and sequences are whole.
func TestCases(t *testing.T) {
	check := func(name string, s shape) {
		bytes := 4 * s.vocab * s.dim
		if s.cache == "cold" && s.vocab > 0 && bytes < 120<<20 {
			t.Errorf("%s/%s: a cache may hold the table", name, s)
		}
		if s.cache == "held" && bytes > 16<<20 {
			t.Errorf("%s/%s: a cache may not hold the table", name, s)
		}
		if s.seq > 0 && s.ids%s.seq != 0 {
			t.Errorf("%s/%s: no whole sequences", name, s)
		}
	}
	for name, shapes := range cases {
		kernelNamed(t, name)
		for _, s := range shapes {
			check(name, s)
		}
	}
	for _, k := range contests {
		for _, s := range k.shapes {
			check(k.kernel.name, s)
		}
	}
}
