// Package positional tells a model where in its sequence a token stands: vectors of positions, fixed or learned, that are
// added to those of the tokens.
//
// A batch of sequences (batch, seq, dim) is a matrix of batch*seq rows and dim columns, one sequence behind the other.
// What is added to row i belongs to position start + i mod seq; start is not 0 where a decoder continues from a cache.
//
// Any number of goroutines may use one encoding, except while a learned table or its gradient is being written to.
package positional

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowvec/rowvec"
)

// Encoding is what all kinds of positions have in common.
type Encoding interface {
	fmt.Stringer

	// Kind returns the name by which New makes such an encoding.
	Kind() string

	// Dim returns the number of columns.
	Dim() int

	// Limit returns the number of positions that there are, math.MaxInt where there is no limit.
	Limit() int

	// Table returns the positions held in memory, 0 up to Table().Rows, without a copy.
	Table() rowvec.Matrix

	// Trainable reports whether Table is a parameter, which then has all positions.
	Trainable() bool

	// Fill sets row i of dst to position start + i. Positions must be below Limit, but need not be in the table.
	Fill(dst rowvec.Matrix, start int) error
}

var kinds = []string{"learned", "sinusoidal", "none"}

// Kinds returns the names that New knows.
func Kinds() []string { return slices.Clone(kinds) }

// KindError reports a name that New does not know.
type KindError struct {
	Kind string
}

// Error names the kind and lists those that there are.
func (e *KindError) Error() string {
	last := len(kinds) - 1
	return fmt.Sprintf("rowvec: positional.New: unknown kind %q: want %s or %s", e.Kind,
		strings.Join(kinds[:last], ", "), kinds[last])
}

// DefaultMax is the maximum length of a sequence that New assumes where it is told none, as BERT's is.
const DefaultMax = 512

// New returns an encoding by the name of its kind: "learned" for NewLearned(max, dim, seed), "sinusoidal" for
// NewSinusoidal(max, dim); a max of 0 stands for DefaultMax. For "none" the Encoding is nil, and so is the error. Any
// other name is a KindError.
func New(kind string, max, dim int, seed uint64) (Encoding, error) {
	if max == 0 {
		max = DefaultMax
	}
	switch kind { // no typed nil may get into the interface
	case "learned":
		l, err := NewLearned(max, dim, seed)
		if err != nil {
			return nil, err
		}
		return l, nil
	case "sinusoidal":
		s, err := NewSinusoidal(max, dim)
		if err != nil {
			return nil, err
		}
		return s, nil
	case "none":
		return nil, nil
	}
	return nil, &KindError{kind}
}
