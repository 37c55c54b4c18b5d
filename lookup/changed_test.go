package lookup_test

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestOffsetsChangeMeanwhile has another goroutine change an offset while layers are at work, to numbers from which no length can be
// computed, too: they end in an error, or not, and write to nothing else.
func TestOffsetsChangeMeanwhile(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	const vocab, dim, long, short, n = 100, 64, 20_000, 5, 22_000
	ids := make([]int, n)
	offsets := []int{0}
	for end := long; end <= n; end += short {
		offsets = append(offsets, end)
	}
	words := make([]uintptr, len(offsets)) // to be changed as a whole
	for i, offset := range offsets {
		words[i] = uintptr(offset)
	}
	offsets = unsafe.Slice((*int)(unsafe.Pointer(&words[0])), len(words))

	tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Workers(1)))
	segments := lookup.Segments(must(lookup.NewEmbedding(2, dim)))
	learned, computed := must(positional.NewLearned(long, dim, 1)), must(positional.NewSinusoidal(0, dim))
	for name, l := range map[string]*lookup.Layer{
		"learned":                        must(lookup.NewLayer(tokens, learned)),
		"learned, dropping":              must(lookup.NewLayer(tokens, learned, lookup.Dropout(0.5, 1))),
		"learned, segments":              must(lookup.NewLayer(tokens, learned, segments)),
		"learned, segments, normalised":  must(lookup.NewLayer(tokens, learned, segments, lookup.LayerNorm(1e-5))),
		"computed":                       must(lookup.NewLayer(tokens, computed)),
		"computed, segments":             must(lookup.NewLayer(tokens, computed, segments)),
		"computed, dropping":             must(lookup.NewLayer(tokens, computed, lookup.Dropout(0.5, 1))),
		"computed, normalised, dropping": must(lookup.NewLayer(tokens, computed, lookup.LayerNorm(1e-5), lookup.Dropout(0.5, 1))),
	} {
		t.Run(name, func(t *testing.T) {
			isatest.Tune(t, &tuning.StreamBytes, 1<<20)
			const behind = 77
			all := newMatrix(t, n+1, dim)
			all.Row(n)[0] = behind
			dst := rowvec.Matrix{Rows: n, Cols: dim, Data: all.Data[:n*dim], Stride: dim}
			grads, sparse := l.NewGradients(), l.NewSparseGradients()

			var stop atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				const good = long
				for word := &words[1]; !stop.Load(); runtime.Gosched() {
					for i, bad := range []int{math.MinInt, -1, math.MaxInt, good - 3, good + 3} {
						for range 300 >> i {
							atomic.StoreUintptr(word, uintptr(bad))
							for range 5 {
								atomic.LoadUintptr(word)
							}
							atomic.StoreUintptr(word, good)
							for range 20 {
								atomic.LoadUintptr(word)
							}
						}
					}
				}
			})
			defer wg.Wait()
			defer stop.Store(true)
			changed := 0
			try := func(err error) {
				if shape := (*rowvec.ShapeError)(nil); errors.Is(err, rowvec.ErrChanged) {
					changed++
				} else if err != nil && !errors.As(err, &shape) {
					t.Fatal(err)
				}
				if all.Row(n)[0] != behind {
					t.Fatal("a row behind dst has changed")
				}
			}
			calls := 100
			if isatest.Slow {
				calls = 5
			}
			for start := time.Now(); time.Since(start) < 300*time.Millisecond || changed == 0 && time.Since(start) < time.Second; {
				for range calls {
					try(l.Forward(dst, lookup.Ragged(ids, offsets)))
					try(l.ForwardTrain(dst, lookup.RaggedFrom(ids, offsets), 1))
				}
				try(l.Backward(grads, lookup.Ragged(ids, offsets), dst))
				try(l.BackwardSparse(sparse, lookup.Ragged(ids, offsets), dst))
			}
			if changed == 0 {
				t.Skip("no offset changed during a call")
			}
		})
	}
}
