// Package positional tells a model where in its sequence a token stands, by every encoding that transformers have in use.
//
// Some are vectors that are added to those of the tokens. New makes them by name, lookup.NewLayer takes them, and AddTo
// adds them to any matrix:
//
//   - learned: NewLearned, a table that is trained, as in BERT, GPT-2 and ViT. Resized, ResizedGrid and Resize make it
//     longer or shorter, by interpolation that can be trained through.
//   - sinusoidal: NewSinusoidal, fixed, for any length, as in "Attention is all you need" (2017), Tensor2Tensor and Marian.
//   - grid: NewGrid, fixed, for the patches of images by their rows and columns, as in MAE, MoCo v3 and simple ViT.
//
// Others belong to each attention of the model, which holds them itself:
//
//   - rotary: NewRotary turns queries and keys by angles that grow with their positions, before their products, as in
//     GPT-NeoX, LLaMA, Mistral and Qwen; at frequencies of any Scaling, such as YaRN or Llama3, for longer sequences; and by
//     positions on several axes, as Qwen2-VL has them for images (Sections), or FLUX (Axial).
//   - alibi: NewALiBi adds to the scores of queries and keys a number in proportion to their distance, as in BLOOM and MPT.
//   - t5: NewRelativeBias adds to them a learned number for each head and range of distances, as in T5 and its kin.
//
// A batch of sequences (batch, seq, dim) is a matrix of batch*seq rows and dim columns, one sequence behind the other.
// What is added to row i belongs to position start + i mod seq; start is not 0 where a decoder continues from a cache.
// Sinusoidal and rotary positions also come one for each row, as CountPositions and CountUnmasked make them of padded
// batches, and CountRagged of batches without padding; and rotary ones on each axis, as CountGrids makes them of images.
//
// What is computed from angles is exact to half a float32 step, however far a position is, and all results have the same
// bits on every machine. Any number of goroutines may use one encoding, except while a learned table or its gradient is
// being written to.
//
// Errors are those of package rowvec, and KindError for a name that New does not know. The zero value of a type that has a
// constructor is not ready for use, and nor is nil: most of their methods panic, and what others return means nothing.
package positional

import (
	"fmt"
	"math"
	"strings"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
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

// kinds are all that there are. Those with a constructor of their own are not added to embeddings, and New does not make
// them.
var kinds = []struct{ name, constructor string }{
	{name: "learned"}, {name: "sinusoidal"}, {name: "grid"}, {name: "none"},
	{"rotary", "NewRotary"}, {"alibi", "NewALiBi"}, {"t5", "NewRelativeBias"},
}

// Kinds returns the names of what New makes: encodings that are added to embeddings.
func Kinds() []string {
	names, _ := split()
	return names
}

// split returns the kinds that New makes, and the others.
func split() (added, others []string) {
	for _, k := range kinds {
		if k.constructor == "" {
			added = append(added, k.name)
		} else {
			others = append(others, k.name)
		}
	}
	return added, others
}

// KindError reports a name that New does not know, or that of a kind which is not added to embeddings.
type KindError struct {
	Kind string
}

// Error names the kind, and lists those that there are or says which constructor makes it.
func (e *KindError) Error() string {
	for _, k := range kinds {
		if k.name == e.Kind && k.constructor != "" {
			return fmt.Sprintf("rowvec: positional.New: kind %q is not added to embeddings: %s makes it", e.Kind, k.constructor)
		}
	}
	added, others := split()
	return fmt.Sprintf("rowvec: positional.New: unknown kind %q: want %s; %s have constructors of their own", e.Kind,
		list(added, "or"), list(others, "and"))
}

// list returns, for instance, "a, b or c".
func list(names []string, last string) string {
	n := len(names) - 1
	return fmt.Sprintf("%s %s %s", strings.Join(names[:n], ", "), last, names[n])
}

// DefaultMax is the maximum length of a sequence that New assumes where it is told none, as BERT's is.
const DefaultMax = 512

// New returns an encoding by the name of its kind: "learned" for NewLearned(max, dim, seed), "sinusoidal" for
// NewSinusoidal(max, dim), "grid" for NewGrid(n, n, dim) where max is n*n, and for another max a ShapeError. A max of 0
// stands for DefaultMax, but for a grid, which has to be told. For "none" the Encoding is nil, and so is the error. Any
// other name is a KindError.
func New(kind string, max, dim int, seed uint64) (Encoding, error) {
	const op = "positional.New"
	if max == 0 && kind != "grid" {
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
	case "grid":
		side, err := sideOf(op, max)
		if err != nil {
			return nil, err
		}
		g, err := NewGrid(side, side, dim)
		if err != nil {
			return nil, err
		}
		return g, nil
	case "none":
		return nil, nil
	}
	return nil, &KindError{kind}
}

// sideOf returns the side of a square grid of max places: the square root, which must be a whole number.
func sideOf(op string, max int) (int, error) {
	if err := check.AtLeast(op, "max", max, 1); err != nil {
		return 0, err
	}
	side := int(math.Sqrt(float64(max))) // rounded down, or where max is beyond 2^53 one too high
	if side > max/side {
		side--
	}
	if side*side != max {
		return 0, &rowvec.ShapeError{Op: op, What: "max", Got: max, Rule: "a square number such as ", Want: side * side}
	}
	return side, nil
}
