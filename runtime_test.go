package rowvec_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
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
			offsets := [...]int{0, 1, 3, 3, 6, 6, 6}
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
		bags, offsets := matrix(heap(), rng, 3, 24, 0), []int{0, 100, 400, dst.Rows}
		ids := randomIDs[int64](rng, dst.Rows, table.Rows)
		stop := isatest.KeepChanging(&ids[300])
		var changed, refused int
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
			for _, err := range []error{
				rowvec.Gather(dst, table, ids),
				rowvec.GatherScaled(dst, table, ids, 2),
				rowvec.Embed(dst, table, ids, 2, table, 0, 64),
				rowvec.EmbedAt(dst, table, ids, 2, table, ids),
				rowvec.ScatterAdd(table, ids, 1, dst),
				rowvec.BagSum(bags, table, ids, offsets, nil),
				rowvec.BagMean(bags, table, ids, offsets),
				rowvec.BagMax(bags, table, ids, offsets),
				rowvec.RotateAt(dst, dst, rowvec.Rotation{Heads: 1}, table, ids),
			} {
				var index *rowvec.IndexError
				switch {
				case errors.Is(err, rowvec.ErrChanged):
					changed++
				case errors.As(err, &index):
					refused++
				case err != nil:
					t.Errorf("error %v", err)
				}
			}
		}
		stop()
		t.Logf("%d refused, %d changed meanwhile", refused, changed)
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
		var changed, refused int
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end) && unsafe.Sizeof(0) == 8; {
			for _, err := range []error{
				rowvec.BagSum(dst, table, ids, read, nil),
				rowvec.BagSum(dst, table, ids, read, weights),
				rowvec.BagMean(dst, table, ids, read),
				rowvec.BagMax(dst, table, ids, read),
			} {
				var shape *rowvec.ShapeError
				switch {
				case errors.Is(err, rowvec.ErrChanged):
					changed++
				case errors.As(err, &shape):
					refused++
				case err != nil:
					t.Errorf("error %v", err)
				}
			}
		}
		stop.Store(true)
		wg.Wait()
		t.Logf("%d refused, %d changed meanwhile", refused, changed)
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
		const n = 1 << 25
		x, y := make([]float32, n), make([]float32, n)
		table := rowvec.Matrix{Rows: 16, Cols: 1 << 10, Data: y, Stride: 1 << 10}
		rows := rowvec.Matrix{Rows: n >> 10, Cols: 1 << 10, Data: x, Stride: 1 << 10}
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
		few := rowvec.Matrix{Rows: 2, Cols: 1 << 10, Data: x, Stride: 1 << 10}
		scores, _ := rowvec.NewMatrix(16, n>>10)
		product, _ := rowvec.NewMatrix(1, 2)
		turns := rowvec.Matrix{Rows: 1, Cols: 64, Data: y, Stride: 64}
		pairs, turn := thin, rowvec.Matrix{Rows: 1, Cols: 2, Data: y, Stride: 2}
		pairs.Cols = 2
		stopsInTime(t, map[string]func() error{
			"AddScaled":  func() error { return rowvec.AddScaled(x, 2, y) },
			"Sinusoids":  func() error { return rowvec.Sinusoids(rows, 0, wave[:1<<10], next[:1<<10], twice[:1<<10]) },
			"long waves": func() error { return rowvec.Sinusoids(broad, 0, wave, next, twice) },
			"thin waves": func() error { return rowvec.Sinusoids(thin, 0, wave[:1], next[:1], twice[:1]) },
			"skipped":    func() error { return rowvec.Sinusoids(few, n, wave[:1<<10], next[:1<<10], twice[:1<<10]) },
			"Gather":     func() error { return rowvec.Gather(rows, table, ids) },
			"ScatterAdd": func() error { return rowvec.ScatterAdd(table, ids, 1, rows) },
			"long rows":  func() error { return rowvec.Gather(one, sum, ids[:2]) },
			"AddBatches": func() error { return rowvec.AddBatches(sum, one) },
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
			"BagSum":     func() error { return rowvec.BagSum(few, table, many, []int{0, 5, len(many)}, nil) },
			"BagMean":    func() error { return rowvec.BagMean(few, table, many, []int{0, 5, len(many)}) },
			"BagMax":     func() error { return rowvec.BagMax(sum, one, ids[:2], []int{0, 2}) }, // long rows
			"empty bags": func() error { return rowvec.BagSum(thin, table1, ids[:1], empty, nil) },
			"DotsAll":    func() error { return rowvec.DotsAll(scores, table, rows) },
			"long dots":  func() error { return rowvec.DotsAll(product, sum, one) },
			"Add":        func() error { return rowvec.Add(x, y) },
			"Scale":      func() error { rowvec.Scale(x, 1); return nil },
		})
	})
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

// TestConcurrentReaders has goroutines read one table while stacks grow and garbage is collected.
func TestConcurrentReaders(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		table := matrix(heap(), rng, 200, 33, 2)
		ids := randomIDs[uint32](rng, 50, table.Rows)
		want := matrix(heap(), rng, len(ids), 33, 0)
		if err := rowvec.Embed(want, table, ids, 2, table, 3, 10); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					var data [50 * 33]float32
					dst := rowvec.Matrix{Rows: 50, Cols: 33, Data: data[:], Stride: 33}
					if err := rowvec.Embed(dst, table, ids, 2, table, 3, 10); err != nil {
						t.Error(err)
					}
					if d := diff(dst.Data, want.Data, false); d != "" {
						t.Error(d)
					}
					_ = make([]byte, 1<<16)
				}
			})
		}
		for range 5 {
			runtime.GC()
		}
		wg.Wait()
	})
}
