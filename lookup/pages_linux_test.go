package lookup_test

import (
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/lookup"
)

// TestHugePages: tables and the state of optimizers are in huge pages, also where they come from memory that has been in use.
func TestHugePages(t *testing.T) {
	const vocab, dim = 1 << 16, 64
	for name, table := range map[string]func(e *lookup.Embedding) rowvec.Matrix{
		"table": func(e *lookup.Embedding) rowvec.Matrix { return e.Weight() },
		"state": func(e *lookup.Embedding) rowvec.Matrix {
			return must(e.NewOptimizer(lookup.Adagrad{})).State()[0].Value
		},
		"state with something in it": func(e *lookup.Embedding) rowvec.Matrix {
			return must(e.NewOptimizer(lookup.Adagrad{Initial: 1})).State()[0].Value
		},
	} {
		t.Run(name, func(t *testing.T) {
			isatest.UsedMemory(t, 12)
			m := table(must(lookup.NewEmbedding(vocab, dim)))
			for i := range m.Rows {
				m.Row(i)[0] = 1
			}
			if got := isatest.HugeBytes(t, m.Data); got < vocab*dim*4/2 {
				t.Errorf("%d of %d bytes are in huge pages", got, vocab*dim*4)
			}
		})
	}
}
