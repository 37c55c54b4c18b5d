package rowvec

import (
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// TestMore: kernels that may look at more ids than they have rows to do, to prefetch what those choose, do no more rows.
func TestMore(t *testing.T) {
	const n, all = 10, 90
	isatest.Tune(t, &tuning.HeldLinesBytes, 0)
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{1, 2, 3, 4, 7, 8, 13, 16, 40, 64, 128} {
			for _, rows := range []int{1, 1<<20/cols + 1} { // which sits in cache, and which is prefetched
				table := Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
				moreIDs(t, &table, n, make([]uint32, all))
				moreIDs(t, &table, n, make([]uint64, all))
			}
		}
	})
}

func moreIDs[I ID](t *testing.T, table *Matrix, n int, ids []I) {
	t.Helper()
	rows, _ := NewMatrix(len(ids), table.Cols)
	for i := range rows.Data {
		rows.Data[i] = 1
	}
	few, h := rowsOf(rows, 0, n), &hint{more: len(ids) - n}
	table.Data[0] = 0
	if done := scatterAdd(table, ids[:n], 1, &few, h); done != n || table.Data[0] != float32(n) {
		t.Errorf("%d columns: scatterAdd has done %d rows, want %d, and sums are %g", few.Cols, done, n, table.Data[0])
	}
	for name, done := range map[string]int{
		"gather":       gather(&few, table, ids[:n], h),
		"gatherScaled": gatherScaled(&few, table, ids[:n], 1, h),
	} {
		if next := rows.Row(n)[0]; done != n || next != 1 {
			t.Errorf("%d columns: %s has done %d rows, want %d, or one has written %g behind them", few.Cols, name, done, n, next)
		}
	}
}

// TestStops: kernels end in front of the first id that is out of range, as one may be that has changed since the check, and
// say how many they have done.
func TestStops(t *testing.T) {
	const n, rows = 11, 3
	isatest.Tune(t, &tuning.Halves, false)
	isatest.Tune(t, &tuning.NearBytes, 0)
	isatest.Tune(t, &tuning.StreamUneven, true)
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{1, 3, 4, 8, 16, 40, 64, 128, 144, 150, 512} {
			m := func(rows int) *Matrix {
				m := Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols+16)}
				for uintptr(unsafe.Pointer(&m.Data[0]))%64 != 0 { // which rows past the caches begin at
					m.Data = m.Data[1:]
				}
				return &m
			}
			dst, table, linear, sums, gamma := m(n), m(rows), m(n), make([]float32, rows), make([]float32, cols)
			ids, at, bags, ones := make([]uint32, n), make([]uint64, n), []int{0, 5, n}, make([]int, n+1) // where bags of one begin and end
			for i := range ones {
				ones[i] = i
			}
			far := &Matrix{Rows: rows, Cols: cols, Stride: 1 << 20, Data: make([]float32, (rows-1)<<20+cols)} // which is prefetched, and large
			windows := &Matrix{Rows: n, Cols: cols, Stride: cols + 1, Data: make([]float32, n*(cols+1))}
			angles := Matrix{Rows: rows, Cols: cols &^ 1, Stride: cols, Data: table.Data}
			kernels := map[string]func(h *hint) int{
				"gather":       func(h *hint) int { return gather(dst, table, ids, h) },
				"gatherScaled": func(h *hint) int { return gatherScaled(dst, table, ids, 2, h) },
				"bagSum, bags of one": func(h *hint) int {
					defer func(bytes int) { tuning.StreamBytes = bytes }(tuning.StreamBytes)
					if h.stream {
						tuning.StreamBytes = 0
					}
					return bagSum(dst, table, ids, ones, nil, true)
				},
				"bagSum":               func(*hint) int { return bagSum(m(2), table, ids, bags, nil, false) },
				"bagSum, prefetched":   func(*hint) int { return bagSum(m(2), far, ids, bags, nil, false) },
				"bagSum, weighted":     func(*hint) int { return bagSum(m(2), far, ids, bags, make([]float32, n), false) },
				"bagMax":               func(*hint) int { return bagMax(m(2), far, ids, bags, false) },
				"embed":                func(h *hint) int { return embed(dst, table, ids, 2, linear, 0, n, h) },
				"embedAt":              func(h *hint) int { return embedAt(dst, table, ids, 2, linear, make([]uint64, n), h) },
				"embedAt, at":          func(h *hint) int { return embedAt(dst, linear, make([]uint32, n), 2, table, at, h) },
				"scatterAdd":           func(h *hint) int { return scatterAdd(table, ids, 2, linear, h) },
				"gatherScaled, of one": func(h *hint) int { return gatherScaled(m(1), table, ids[:1], 2, h) },
				"scatterAdd, of one":   func(h *hint) int { return scatterAdd(table, ids[:1], 2, m(1), h) },
				"embed, of one":        func(h *hint) int { return embed(m(1), table, ids[:1], 2, linear, 0, 1, h) },
				"embedAt, of one":      func(h *hint) int { return embedAt(m(1), table, ids[:1], 2, linear, make([]uint64, 1), h) },
				"embedAt, at, of one":  func(h *hint) int { return embedAt(m(1), linear, make([]uint32, 1), 2, table, at[:1], h) },
				"gather, windows":      func(h *hint) int { return gather(windows, far, ids, h) },
				"scatterAdd, windows":  func(h *hint) int { return scatterAdd(far, ids, 2, windows, h) },
				"updateSGD":            func(h *hint) int { return updateSGD(table, ids, linear, 1, 0, h) },
				"updateAdagrad":        func(h *hint) int { return updateAdagrad(table, m(rows), ids, linear, 1, 1, h) },
				"updateRowAdagrad":     func(h *hint) int { return updateRowAdagrad(table, sums, ids, linear, 1, 1, h) },
				"updateAdam":           func(h *hint) int { return updateAdam(table, m(rows), m(rows), ids, linear, AdamStep{Epsilon: 1}, h) },
				"dots": func(*hint) int {
					return dots(&Matrix{Rows: 2, Cols: n, Stride: n, Data: make([]float32, 2*n)}, m(2), table, ids)
				},
				"rotateAt": func(*hint) int { return rotateAt(dst, linear, &Rotation{Heads: 1}, &angles, at) },
				"rotateAt, interleaved": func(*hint) int {
					return rotateAt(dst, linear, &Rotation{Heads: 1, Interleaved: true}, &angles, at)
				},
				"normalise": func(*hint) int {
					return normaliseRows(&forward.Normal{
						Rows:  forward.Rows{Dst: *dst, Table: *table, IDs: unsafe.Pointer(&ids[0]), Scale: 1, Positions: *linear, Seq: n},
						Gamma: gamma, Beta: gamma, Epsilon: 1,
					})
				},
			}
			if cols == 1 {
				delete(kernels, "rotateAt")
				delete(kernels, "rotateAt, interleaved")
			}
			for name, kernel := range kernels {
				for way := range 6 {
					stream, halves := way%2 > 0, way/2 == 1
					tuning.Halves, tuning.NearBytes = halves, way/4*math.MaxInt
					for want := range n + 1 { // another number each time, which no result left behind would be
						if clear(ids); want < n {
							ids[want] = rows
						}
						for i, id := range ids {
							at[i] = uint64(id)
						}
						want := want
						if strings.HasSuffix(name, ", of one") {
							want = min(want, 1)
						}
						if got := kernel(&hint{stream: stream}); got != want {
							t.Errorf("%s of %d columns, past the caches %v, in halves %v, near %v: %d done, want %d", name, cols, stream, halves, tuning.NearBytes > 0, got, want)
						}
					}
				}
			}
		}
	})
}
