package lookup_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rowvec/rowvec/lookup"
)

// TestResume: a run that goes on from a file has the bits of one that was never interrupted, for every method.
func TestResume(t *testing.T) {
	const dim = 33
	ids, _ := randomIDs[int32](200)
	in := lookup.Sequence(ids)
	for i, m := range []lookup.Method{
		lookup.SGD{WeightDecay: 0.1}, lookup.Adagrad{RateDecay: 0.5, Initial: 0.5}, lookup.RowAdagrad{}, lookup.Adam{}, lookup.AdamW{WeightDecay: 0.25},
	} {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.safetensors", i))
		whole := must(lookup.NewEmbedding(vocab, dim, lookup.Padding(padded)))
		o := must(whole.NewOptimizer(m))
		step := func(e *lookup.Embedding, o *lookup.Optimizer, seed uint64) {
			t.Helper()
			if err := o.StepBatch(e, in, fill(newMatrix(t, len(ids), dim), seed)); err != nil {
				t.Fatal(err)
			}
		}
		for s := range uint64(3) {
			step(whole, o, s)
		}
		metadata := map[string]string{"steps": strconv.Itoa(o.Steps())}
		if err := lookup.Save(path, append(whole.Parameters(), o.State()...), metadata); err != nil {
			t.Fatal(err)
		}

		again := must(lookup.NewEmbedding(vocab, dim, lookup.Padding(padded), lookup.Normal(1, 9)))
		p := must(again.NewOptimizer(m))
		metadata, err := lookup.Load(path, append(again.Parameters(), p.State()...))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetSteps(must(strconv.Atoi(metadata["steps"]))); err != nil {
			t.Fatal(err)
		}
		for s := range uint64(3) {
			step(whole, o, 10+s)
			step(again, p, 10+s)
		}
		compare(t, p.String(), again.Weight(), whole.Weight())
		for k, s := range o.State() {
			compare(t, p.String(), p.State()[k].Value, s.Value)
		}
	}
}
