package rowvec_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
)

// TestNoAllocation keeps all buffers on the stack: what lets an argument escape allocates.
func TestNoAllocation(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		isatest.NoAllocation(t, "kernels", func() {
			var table, positions, dst [6 * 7]float32
			var ids, at [6]int32
			var x, y, c [7]float64
			var weights [7]float32
			var sums [14]float32
			var many [5000]int32
			offsets, single := [...]int{0, 1, 3, 3, 6, 6, 6}, [...]int{0, 1, 2, 3, 4, 5, 6}
			m := func(x *[6 * 7]float32) rowvec.Matrix { return rowvec.Matrix{Rows: 6, Cols: 7, Data: x[:], Stride: 7} }
			sines := rowvec.Matrix{Rows: 6, Cols: 6, Data: table[:], Stride: 7}
			errs := [...]error{
				rowvec.Gather(m(&dst), m(&table), ids[:]),
				rowvec.GatherScaled(m(&dst), m(&table), ids[:], 2),
				rowvec.Embed(m(&dst), m(&table), ids[:], 2, m(&positions), 0, 3),
				rowvec.EmbedAt(m(&dst), m(&table), ids[:], 2, m(&positions), at[:]),
				rowvec.ScatterAdd(m(&table), ids[:], 2, m(&dst)),
				rowvec.EmbedBackward(m(&table), m(&positions), ids[:], 2, m(&dst), 0, 3),
				rowvec.EmbedAtBackward(m(&table), m(&positions), ids[:], 2, m(&dst), at[:]),
				rowvec.BagSum(m(&dst), m(&table), ids[:], offsets[:], nil),
				rowvec.BagSum(m(&dst), m(&table), ids[:], offsets[:], weights[:6]),
				rowvec.BagMean(m(&dst), m(&table), ids[:], offsets[:]),
				rowvec.BagMax(m(&dst), m(&table), ids[:], offsets[:]),
				rowvec.BagSum(m(&dst), m(&table), ids[:], single[:], nil),
				rowvec.BagMean(m(&dst), m(&table), ids[:], single[:]),
				rowvec.BagMax(m(&dst), m(&table), ids[:], single[:]),
				rowvec.BagMean(m(&positions), m(&table), many[:], []int{0, 1, 4200, 4200, 4201, 4998, 5000}),
				rowvec.AddScaled(dst[:], 2, table[:]),
				rowvec.Add(dst[:], table[:]),
				rowvec.Sinusoids(m(&dst), 3, x[:], y[:], c[:]),
				rowvec.AddBatches(m(&positions), m(&dst)),
				rowvec.Dropout(m(&positions), m(&dst), rowvec.Mask{P: 0.5}),
				rowvec.LayerNorm(m(&positions), m(&dst), weights[:7], weights[:7], 1e-5),
				rowvec.LayerNormBackward(m(&positions), m(&dst), m(&table), weights[:7], 1e-5, sums[:7], sums[7:]),
				rowvec.Rotate(m(&positions), m(&dst), rowvec.Rotation{Heads: 1}, sines, 0, 3),
				rowvec.RotateAt(m(&dst), m(&dst), rowvec.Rotation{Heads: 1}, sines, at[:]),
				rowvec.CheckIDs(ids[:], 6),
				rowvec.Gather(rowvec.Matrix{Rows: 1, Cols: 7, Data: dst[:7], Stride: 7}, m(&table), ids[:1]),
			}
			if rowvec.Overlap(m(&dst), m(&table)) {
				t.Error("two arrays overlap")
			}
			rowvec.Scale(dst[:], 2)
			for _, err := range errs {
				if err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// whileChanging makes calls for a moment, whose arguments change meanwhile: each is done, or ends with ErrChanged or with an
// error of type E.
func whileChanging[E error](t *testing.T, calls func() []error) {
	t.Helper()
	var changed, refused int
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for _, err := range calls() {
			var refusal E
			switch {
			case errors.Is(err, rowvec.ErrChanged):
				changed++
			case errors.As(err, &refusal):
				refused++
			case err != nil:
				t.Errorf("error %v", err)
			}
		}
	}
	t.Logf("%d refused, %d changed meanwhile", refused, changed)
}

// TestIDsChangeMeanwhile has another goroutine make an id invalid and valid again while kernels run: every outcome but
// a fault will do, and an error must be one of the two kinds.
func TestIDsChangeMeanwhile(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		table := matrix(heap(), rng, 100, 24, 0)
		dst := matrix(heap(), rng, 512, 24, 0)
		few := matrix(heap(), rng, 5, 24, 0)
		bags, offsets := matrix(heap(), rng, 3, 24, 0), []int{0, 100, 400, dst.Rows}
		long, longBags := matrix(heap(), rng, table.Rows, 300, 0), matrix(heap(), rng, 3, 300, 0)
		ids := randomIDs[int64](rng, dst.Rows, table.Rows)
		stop := isatest.KeepChanging(&ids[300])
		calls := func() []error {
			return []error{
				rowvec.Gather(dst, table, ids),
				rowvec.Gather(few, table, ids[298:303]),
				rowvec.GatherScaled(dst, table, ids, 2),
				rowvec.Embed(dst, table, ids, 2, table, 0, 64),
				rowvec.EmbedAt(dst, table, ids, 2, table, ids),
				rowvec.ScatterAdd(table, ids, 1, dst),
				rowvec.BagSum(bags, table, ids, offsets, nil),
				rowvec.BagMean(bags, table, ids, offsets),
				rowvec.BagMax(bags, table, ids, offsets),
				rowvec.BagMean(longBags, long, ids, offsets),
				rowvec.BagMax(longBags, long, ids, offsets),
				rowvec.RotateAt(dst, dst, rowvec.Rotation{Heads: 1}, table, ids),
			}
		}
		whileChanging[*rowvec.IndexError](t, calls)
		defer tuning.Lower()()
		whileChanging[*rowvec.IndexError](t, calls)
		stop()
	})
}

// TestOffsetsChangeMeanwhile does the same with an offset.
func TestOffsetsChangeMeanwhile(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		table, dst := matrix(heap(), rng, 100, 150, 0), matrix(heap(), rng, 64, 150, 0)
		ids := randomIDs[uint32](rng, 512, table.Rows)
		weights := make([]float32, len(ids))
		offsets := make([]int64, dst.Rows+1)
		for b := range offsets {
			offsets[b] = int64(b * len(ids) / dst.Rows)
		}
		good := offsets[50]
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for !stop.Load() {
				for i, bad := range []int64{-1, 1 << 40, good - 30, good + 30, math.MinInt64, math.MaxInt64} {
					for range 100 * (i + 1) {
						atomic.StoreInt64(&offsets[50], bad)
					}
					for range 300 {
						atomic.StoreInt64(&offsets[50], good)
					}
				}
				runtime.Gosched()
			}
		})
		read := unsafe.Slice((*int)(unsafe.Pointer(&offsets[0])), len(offsets)*8/int(unsafe.Sizeof(0)))[:len(offsets)]
		if unsafe.Sizeof(0) == 8 {
			calls := func() []error {
				return []error{
					rowvec.BagSum(dst, table, ids, read, nil),
					rowvec.BagSum(dst, table, ids, read, weights),
					rowvec.BagMean(dst, table, ids, read),
					rowvec.BagMax(dst, table, ids, read),
				}
			}
			whileChanging[*rowvec.ShapeError](t, calls)
			defer tuning.Lower()()
			whileChanging[*rowvec.ShapeError](t, calls)
		}
		stop.Store(true)
		wg.Wait()
	})
}

// TestPreemption stops the world, over and over, while one goroutine is in calls that each last long. A call that could
// not be preempted would hold it up for a time between none and its own length, and so for more than a 32nd of it 31
// times in 32. Machines are shared: it is enough if one stop in seven is faster, in one of some attempts.
func TestPreemption(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	isatest.Each(t, func(t *testing.T) {
		if rowvec.ISA() == "portable" {
			t.Skip("plain Go can be preempted anywhere but in copy, which is the runtime's own")
		}
		stopsInTime(t, longCalls(1<<25))
	})
}

// longCalls are calls of kernels on vectors of n elements, which is many chunks, in shapes that end chunks for every reason.
func longCalls(n int) map[string]func() error {
	x, y := make([]float32, n), make([]float32, n)
	table, rows := tableOf(y, 16), tableOf(x, n>>10)
	one := rowvec.Matrix{Rows: 2, Cols: n / 2, Data: x, Stride: n / 2}
	sum := rowvec.Matrix{Rows: 1, Cols: n / 2, Data: y, Stride: n / 2}
	ids, many := make([]int32, n>>10), make([]int32, n>>6)
	wave, next, twice := make([]float64, n>>3), make([]float64, n>>3), make([]float64, n>>3)
	broad := rowvec.Matrix{Rows: 8, Cols: n >> 3, Data: x, Stride: n >> 3}
	thin := rowvec.Matrix{Rows: n >> 6, Cols: 1, Data: x, Stride: 64}
	tall := rowvec.Matrix{Rows: n >> 6, Cols: 1, Data: x, Stride: 1}
	empty := make([]int, n>>6+1) // where bags end that are all without ids, but for the last
	empty[n>>6] = 1
	table1 := rowvec.Matrix{Rows: 16, Cols: 1, Data: y, Stride: 1}
	few := tableOf(x, 2)
	scores, _ := rowvec.NewMatrix(16, n>>10)
	product, _ := rowvec.NewMatrix(1, 2)
	turns := rowvec.Matrix{Rows: 1, Cols: 64, Data: y, Stride: 64}
	pairs, turn := thin, rowvec.Matrix{Rows: 1, Cols: 2, Data: y, Stride: 2}
	pairs.Cols = 2
	gamma, dGamma, dBeta := make([]float32, 1<<10), make([]float32, 1<<10), make([]float32, 1<<10)
	return map[string]func() error{
		"Embed":             func() error { return rowvec.Embed(rows, table, ids, 2, table, 0, 16) },
		"LayerNorm":         func() error { return rowvec.LayerNorm(rows, rows, gamma, gamma, 1) },
		"LayerNormBackward": func() error { return rowvec.LayerNormBackward(rows, rows, tableOf(y, n>>10), gamma, 1, dGamma, dBeta) },
		"UpdateAdagrad":     func() error { return rowvec.UpdateAdagrad(table, tableOf(y[1<<14:], 16), ids, rows, 0, 1) },
		"AddScaled":         func() error { return rowvec.AddScaled(x, 2, y) },
		"Sinusoids":         func() error { return rowvec.Sinusoids(rows, 0, wave[:1<<10], next[:1<<10], twice[:1<<10]) },
		"long waves":        func() error { return rowvec.Sinusoids(broad, 0, wave, next, twice) },
		"thin waves":        func() error { return rowvec.Sinusoids(thin, 0, wave[:1], next[:1], twice[:1]) },
		"skipped":           func() error { return rowvec.Sinusoids(few, n>>5, wave[:1<<10], next[:1<<10], twice[:1<<10]) },
		"Gather":            func() error { return rowvec.Gather(rows, table, ids) },
		"ScatterAdd":        func() error { return rowvec.ScatterAdd(table, ids, 1, rows) },
		"long rows":         func() error { return rowvec.Gather(one, sum, ids[:2]) },
		"AddBatches":        func() error { return rowvec.AddBatches(sum, one) },
		"products": func() error {
			matrix := func(data []float32, rows, cols int) rowvec.Matrix {
				return rowvec.Matrix{Rows: rows, Cols: cols, Data: data, Stride: cols}
			}
			forward.AddProduct(matrix(y, 4, n>>5), matrix(gamma, 4, 32), matrix(x, 32, n>>5), false, rowvec.Matrix{})
			return nil
		},
		"thin rows":  func() error { return rowvec.AddBatches(rowvec.Matrix{Rows: 1, Cols: 1, Data: y, Stride: 1}, thin) },
		"Dropout":    func() error { return rowvec.Dropout(rows, rows, rowvec.Mask{P: 0.5}) },
		"one column": func() error { return rowvec.Dropout(tall, tall, rowvec.Mask{P: 0.5}) },
		"long drops": func() error { return rowvec.Dropout(one, one, rowvec.Mask{P: 0.5}) },
		"Rotate":     func() error { return rowvec.Rotate(rows, rows, rowvec.Rotation{Heads: 8}, turns, 0, 1) },
		"one head":   func() error { return rowvec.Rotate(one, one, rowvec.Rotation{Heads: 1}, sum, 0, 1) },
		"thin heads": func() error { return rowvec.Rotate(pairs, pairs, rowvec.Rotation{Heads: 1}, turn, 0, 1) },
		"many heads": func() error {
			return rowvec.Rotate(one, one, rowvec.Rotation{Heads: n >> 7, Interleaved: true}, turns, 0, 1)
		},
		"BagSum":  func() error { return rowvec.BagSum(few, table, many, []int{0, 5, len(many)}, nil) },
		"BagMean": func() error { return rowvec.BagMean(few, table, many, []int{0, 5, len(many)}) },
		"BagMax":  func() error { return rowvec.BagMax(sum, one, ids[:2], []int{0, 2}) }, // long rows
		"BagDots": func() error {
			forward.BagDots(x[:len(many)], forward.Bags{A: few, Table: table, IDs: unsafe.Pointer(&many[0]), Offsets: []int{0, 5, len(many)}})
			return nil
		},
		"empty bags":  func() error { return rowvec.BagSum(thin, table1, ids[:1], empty, nil) },
		"DotsAll":     func() error { return rowvec.DotsAll(scores, table, rows) },
		"long dots":   func() error { return rowvec.DotsAll(product, sum, one) },
		"FillUniform": func() error { forward.FillUniform(x, 1, 2, 3, 1); return nil },
		"FillNormal":  func() error { forward.FillNormal(x, 1, 2, 3, 1); return nil },
		"Add":         func() error { return rowvec.Add(x, y) },
		"Scale":       func() error { rowvec.Scale(x, 1); return nil },
	}
}

// tableOf returns rows of 1,024 columns.
func tableOf(data []float32, rows int) rowvec.Matrix {
	return rowvec.Matrix{Rows: rows, Cols: 1 << 10, Data: data, Stride: 1 << 10}
}

// stopsInTime reports calls that the world has to wait for, in each of several attempts: another process may be in the way
// of some.
func stopsInTime(t *testing.T, calls map[string]func() error) {
	t.Helper()
	for name, call := range calls {
		var report string
		for range 6 {
			wait, length := stopTheWorld(t, call)
			report = fmt.Sprintf("%s: the world stops after %v; a call lasts %v", name, wait, length)
			if wait <= max(length/32, 150*time.Microsecond) {
				t.Log(report)
				report = ""
				break
			}
		}
		if report != "" {
			t.Error(report)
		}
	}
}

// stopTheWorld returns the seventh quantile of the times that it takes while call is running, and how long a call lasts.
func stopTheWorld(t *testing.T, call func() error) (wait, length time.Duration) {
	t.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	var last atomic.Int64
	wg.Go(func() {
		for !stop.Load() {
			begin := time.Now()
			if err := call(); err != nil {
				t.Error(err)
			}
			last.Store(int64(time.Since(begin)))
		}
	})
	for last.Load() == 0 {
		runtime.Gosched()
	}
	var waits []time.Duration
	for range 42 {
		begin := time.Now()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		waits = append(waits, time.Since(begin))
		time.Sleep(100 * time.Microsecond)
	}
	stop.Store(true)
	wg.Wait()
	slices.Sort(waits)
	return waits[len(waits)/7], time.Duration(last.Load())
}

// BenchmarkPreemption has calls that each last long on every processor but one, and stops the world from there, for a
// collection of garbage now and then. It reports how long the others took to stop, by the runtime's own histograms: the
// median, the 99th percentile and the longest. A processor that another process has taken away counts, too.
func BenchmarkPreemption(b *testing.B) {
	isatest.Tune(b, &tuning.NearBytes, nearBytes)
	isatest.Tune(b, &tuning.NearColumns, nearColumns)
	isatest.Tune(b, &tuning.LeftToRight, leftToRight)
	names := slices.Sorted(maps.Keys(longCalls(1 << 15)))
	for _, level := range isatest.Levels(b) {
		for _, name := range names {
			b.Run(fmt.Sprintf("isa=%v/call=%s", level, strings.ReplaceAll(name, " ", "-")), func(b *testing.B) {
				defer isa.Set(level)()
				var stop atomic.Bool
				var wg, ready sync.WaitGroup
				for range max(1, runtime.GOMAXPROCS(0)-1) {
					call := longCalls(1 << 23)[name]
					ready.Add(1)
					wg.Go(func() {
						for first := true; !stop.Load(); first = false {
							if err := call(); err != nil {
								b.Error(err)
							}
							if first {
								ready.Done()
							}
						}
					})
				}
				ready.Wait()
				before := stopping()
				for i := 0; b.Loop(); i++ {
					var stats runtime.MemStats
					if runtime.ReadMemStats(&stats); i%64 == 0 {
						runtime.GC()
					}
				}
				after := stopping()
				stop.Store(true)
				wg.Wait()
				for i, n := range before.Counts {
					after.Counts[i] -= n
				}
				b.ReportMetric(quantile(after, 0.5), "p50-us")
				b.ReportMetric(quantile(after, 0.99), "p99-us")
				b.ReportMetric(quantile(after, 1), "max-us")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// stopping returns how long it has taken to stop the world, for whatever reason.
func stopping() *metrics.Float64Histogram {
	samples := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}, {Name: "/sched/pauses/stopping/other:seconds"}}
	metrics.Read(samples)
	h := samples[0].Value.Float64Histogram()
	for i, n := range samples[1].Value.Float64Histogram().Counts {
		h.Counts[i] += n
	}
	return h
}

// quantile returns the upper end, in microseconds, of the bucket that the quantile is in.
func quantile(h *metrics.Float64Histogram, q float64) float64 {
	var all, sum uint64
	for _, n := range h.Counts {
		all += n
	}
	for i, n := range h.Counts {
		if sum += n; n > 0 && float64(sum) >= q*float64(all) {
			return 1e6 * h.Buckets[i+1]
		}
	}
	return 0
}

// TestConcurrentReaders has goroutines share one table while garbage is collected all the time. Each is new, with a stack
// that has to grow, and so to move, under buffers that lie on it, and that collections make shrink again; every result is to
// be that of a quiet call.
func TestConcurrentReaders(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		table := matrix(heap(), rng, 200, 33, 2)
		for i := range table.Data {
			table.Data[i] = rng.Float32() - 0.5 // NaNs are not equal
		}
		ids := randomIDs[uint32](rng, 50, table.Rows)
		want := results(t, table, ids, 0)
		defer debug.SetGCPercent(debug.SetGCPercent(1))
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 4 {
					var fresh sync.WaitGroup
					fresh.Go(func() {
						if results(t, table, ids, (g+i)%4) != want {
							t.Error("another result where goroutines read and garbage is collected")
						}
					})
					fresh.Wait()
					runtime.GC()
				}
			})
		}
		wg.Wait()
	})
}

// buffers are small enough for a stack, and hold one result of each kind of kernel.
type buffers struct {
	gathered, embedded, added, means, normal, rotated, dropped [50 * 33]float32
	scores                                                     [50 * 50]float32
}

// results calls kernels with all that they write on the stack, and between them itself, over and over, so that it has to
// grow under what they have written.
func results(t *testing.T, table rowvec.Matrix, ids []uint32, depth int) (b buffers) {
	m := func(x *[50 * 33]float32) rowvec.Matrix {
		return rowvec.Matrix{Rows: 50, Cols: 33, Data: x[:], Stride: 33}
	}
	offsets := [51]int{50: 50}
	gamma, turns := table.Row(0), table
	turns.Cols = 32
	for i, call := range [...]func() error{
		func() error { return rowvec.Gather(m(&b.gathered), table, ids) },
		func() error { return rowvec.Embed(m(&b.embedded), table, ids, 2, table, 3, 10) },
		func() error { return rowvec.ScatterAdd(m(&b.added), make([]int64, 50), 0.5, m(&b.gathered)) },
		func() error { return rowvec.BagMean(m(&b.means), table, ids, offsets[:]) },
		func() error { return rowvec.LayerNorm(m(&b.normal), m(&b.embedded), gamma, gamma, 1) },
		func() error {
			return rowvec.RotateAt(m(&b.rotated), m(&b.gathered), rowvec.Rotation{Heads: 1}, turns, ids)
		},
		func() error { return rowvec.Dropout(m(&b.dropped), m(&b.rotated), rowvec.Mask{P: 0.5}) },
		func() error {
			scores := rowvec.Matrix{Rows: 50, Cols: 50, Data: b.scores[:], Stride: 50}
			return rowvec.Dots(scores, m(&b.gathered), table, ids)
		},
	} {
		if err := call(); err != nil {
			t.Error(i, err)
		}
		if depth > 0 && i%3 == 0 {
			if inner := results(t, table, ids, depth-1); inner.gathered != b.gathered {
				t.Error("a deeper call gathers other rows")
			}
		}
	}
	return b
}
