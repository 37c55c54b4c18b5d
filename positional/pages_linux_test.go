package positional_test

import (
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/positional"
)

// TestHugePages: tables of positions are in huge pages, also where they come from memory that has been in use.
func TestHugePages(t *testing.T) {
	const length, dim = 1 << 14, 256
	for name, table := range map[string]func() (interface{ Table() rowvec.Matrix }, error){
		"learned":    func() (interface{ Table() rowvec.Matrix }, error) { return positional.NewLearned(length, dim, 1) },
		"sinusoidal": func() (interface{ Table() rowvec.Matrix }, error) { return positional.NewSinusoidal(length, dim) },
	} {
		t.Run(name, func(t *testing.T) {
			isatest.UsedMemory(t, 12)
			p, err := table()
			if err != nil {
				t.Fatal(err)
			}
			if got := isatest.HugeBytes(t, p.Table().Data); got < length*dim*4/2 {
				t.Errorf("%d of %d bytes are in huge pages", got, length*dim*4)
			}
		})
	}
}
