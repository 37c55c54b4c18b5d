package main

import (
	"math"
	"slices"
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
				contenders, ordered := k.contenders(&memory{}), k.scores || k.norms
				for c, contender := range contenders {
					if contender.yardstick {
						continue
					}
					got := outcome(k, s, c)
					ours := c <= len(isa.Available)
					for i, x := range want {
						same := math.Float32bits(got[i]) == math.Float32bits(x)
						near := math.Abs(float64(got[i]-x)) <= 1e-5 || ordered && math.Abs(float64(got[i]-x)) <= 1e-4
						if !same && (ours && !ordered || !near) {
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
	c.run(0, 1)
	return contents(k, m)
}

func contents(k *kernel, m *memory) []float32 {
	var all []float32
	for _, x := range [][]float32{m.table.Data, m.rows.Data, m.positions.Data, m.x, m.y, m.sums, m.scores.Data,
		m.affine.Data} {
		all = append(all, x...)
	}
	for _, state := range m.states {
		all = append(all, state.Data...)
	}
	if k.sparse {
		all = append(all, m.gradient.Values().Data...)
		all = append(all, m.naive.sums[:len(m.naive.ids)*m.naive.dim]...) // one of the two is empty
	}
	return all
}

// TestRestart: each side of a training step does the same after others as it does first.
func TestRestart(t *testing.T) {
	s := small(shape{vocab: 300, dim: 17, ids: 50, dist: "zipf"})
	for i := range contests {
		c := &contests[i]
		k := c.kernel
		if k.method == nil {
			continue
		}
		s := s
		if k.bags {
			s.seq = 5
		}
		for side := range k.contenders(&memory{}) {
			want := outcome(k, s, side)
			m := new(arena).memory(k, s)
			all := k.contenders(m)
			for range 2 {
				for _, other := range all {
					repeat(other, 1, 0)
				}
			}
			c.start(m)
			repeat(all[side], 1, 0)
			for i, got := range contents(k, m) {
				if !all[side].yardstick && got != want[i] {
					t.Fatalf("%s, %s, element %d: %v, want %v", k.name, all[side].name, i, got, want[i])
				}
			}
		}
	}
}

// TestLists: calls go on through all lists of ids, and all parts of what is copied, and begin anew behind the last.
func TestLists(t *testing.T) {
	m := &memory{ids: [][]int32{{0}, {1}, {2}}, to: make([]float32, 2), from: []float32{0, 0, 1, 1, 2, 2}}
	var got []int32
	for ids := range m.lists(5, 5) {
		got = append(got, ids[0])
	}
	if want := []int32{2, 0, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("lists %v, want %v", got, want)
	}
	got = nil
	for ids := range m.lists(0, 5) {
		if got = append(got, ids[0]); len(got) == 2 {
			break
		}
	}
	if want := []int32{0, 1}; !slices.Equal(got, want) {
		t.Errorf("lists %v until the second, want %v", got, want)
	}
	for n, want := range []float32{1: 2, 2: 0, 3: 1, 4: 2} {
		if m.copies(5, n); n > 0 && m.to[1] != want {
			t.Errorf("the last of %d copies is of part %v, want %v", n, m.to[1], want)
		}
	}
}

// TestBytes: what is moved for each row counts once, and lists of ids count on average.
func TestBytes(t *testing.T) {
	if got := distinctIDs([][]int32{{1, 1, 2}, {3, 4, 5}, {0, 0, 0}, {0, 5, 0}}, 6); got != 2 {
		t.Errorf("%v ids on average, want 2", got)
	}
	m := new(arena).memory(trainingStep("Adam"), shape{vocab: 1, dim: 10, ids: 7, dist: "uniform", cache: "held"})
	forward, backward, update := 7*(4+2*4*10), 7*(4+4*10), 3*2*4*10
	if want := forward + backward + update; m.bytes != want || len(m.to) != want/8 {
		t.Errorf("%d bytes, copies of %d, want %d", m.bytes, 8*len(m.to), want)
	}
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
		if s.cache == "cold" && s.vocab > 0 && bytes < 85<<20 { // BERT has 89 MiB
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
