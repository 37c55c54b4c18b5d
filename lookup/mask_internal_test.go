package lookup

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
)

// TestMaskRows: dropout reaches to 2^32 rows, which are too many to be passed.
func TestMaskRows(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("there are no more")
	}
	most := math.MaxUint32 >> 1 // no constant, which is too large where int has 32 bits
	most = 2 * (most + 1)
	for _, c := range []struct {
		n    int
		mask rowvec.Mask
		ok   bool
	}{{most, rowvec.Mask{P: 0.5}, true}, {most + 1, rowvec.Mask{P: 0.5}, false}, {most + 1, rowvec.Mask{}, true}} {
		if err := checkMask("op", c.n, c.mask); (err == nil) != c.ok {
			t.Errorf("%d rows, %v: %v", c.n, c.mask, err)
		}
	}
}
