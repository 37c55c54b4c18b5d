// Package forward is how layers reach the kernels of package rowvec with what the exported functions have no argument for:
// what the rows are a part of. It has backward passes and updates too.
package forward

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/philox"
	"github.com/rowvec/rowvec/kernels"
)

// Rows are rows of a result: each is scale times a row of Table, plus one of Positions if At is not nil or Seq not 0.
type Rows struct {
	Dst, Table kernels.Matrix
	IDs        unsafe.Pointer // of Dst.Rows uint32, or uint64 if they are Wide; Dst has rows
	Wide       bool
	Scaled     bool // or else all bits of the table are kept where there are no positions
	Scale      float32

	Positions  kernels.Matrix // which may be Dst where each is of use once, but at the portable level and where they stream
	At         []int          // the position of each row; nil for Start, Start+1, ... over and over, Seq of them
	Start, Seq int

	Stream bool // the result is too large for the caches

	// More is the number of ids behind those of the rows, which may be read: what they choose comes next, and is worth
	// prefetching. It is below 0 where all rows have been fetched before.
	More int
	// Follows says that these ids were those behind the rows of a call before, so that the first of them are fetched.
	Follows bool
}

// Do does rows whose arguments have all been checked, and returns the number done: fewer if an id has changed since.
// Package rowvec sets it. What Rows point to is on the heap, as for any function variable.
var Do func(r Rows) (done int)

// Normal is rows that are normalised, with Gamma, Beta and Epsilon as rowvec.LayerNorm has them: each is what Rows say, plus
// one of Add if that has rows: AddStart, AddStart+1, ... over and over, AddSeq of them. Scale counts even if not Scaled.
type Normal struct {
	Rows
	Add              kernels.Matrix
	AddStart, AddSeq int
	Gamma, Beta      []float32
	Epsilon          float32
}

// Normalise does such rows, whose arguments have all been checked, and returns what Do does. Each few rows are summed and
// normalised while they are in the first-level cache, where the arithmetic leaves memory idle, and so it fetches rows of
// Table that come next. Stream does not matter.
var Normalise func(n Normal) (done int)

// Normalises reports whether that is so for rows of so many columns, or else each step does all rows.
var Normalises func(cols int) bool

// ScatterAdd adds Scale times the rows of Dst, which it only reads, to those of Table that the ids choose, as Do does with
// the rest.
var ScatterAdd func(r Rows) (done int)

// ProductRows is how many rows AddProduct adds up before their sum goes to dst. Sums of 50,257 rows of normal numbers are at most 5e-6 of
// their root mean square from the exact ones so, and 3e-5 where each row is added to dst. On a Xeon, gradients of an output layer of 768
// columns take 0.98 to 1.02 of the time, of 4,096 1.05 to 1.1, of 64 with 256 hidden states 1.00, and 1.05 with AVX2.
const ProductRows = 32

// AddProduct adds a matrix product to dst, the definition of which is: dst[i] += the sum of a[i][k] * src[k] over ProductRows of k, or of
// what is left, for each i and all such blocks of k in ascending order, or of a[k][i] if a is transposed; each sum starts from +0 and goes
// by k ascending, and each product is rounded and then the sum. All has been checked, and no matrix is empty but next: rows one behind the
// other that come next, and are prefetched meanwhile.
var AddProduct func(dst, a, src kernels.Matrix, transposed bool, next kernels.Matrix)

// SquaredNorms sets dst, which is as long as m has rows, to the sum of the squares of each row in float64, where squares are exact: 16 lanes
// which start from +0 and are added up as those of a dot product are (package kernels). A sum is finite where all of its row are. What
// next begins with comes next, and is prefetched meanwhile, unless next is empty. All has been checked.
var SquaredNorms func(dst []float64, m kernels.Matrix, next []float32)

// BagMaxBackward is kernels.BagMaxBackward, where maxima and left are the halves of rows of both, and the rows of table have just been
// read, unless they are more than a cache holds. All has been checked.
var BagMaxBackward func(dst, table kernels.Matrix, ids []int, both kernels.Matrix, bags []int, read bool) (done int)

// Bags is what BagDots works on: the ids of bags, the table that they choose rows of, and a row of A for each bag.
type Bags struct {
	A, Table kernels.Matrix
	IDs      unsafe.Pointer // of uint32, or uint64 if they are Wide; there are some
	Wide     bool
	Offsets  []int // where bags begin and end among the ids; nobody else writes to them
	More     int   // ids behind them, which may be read: what they choose comes next
	Follows  bool  // as of Rows
}

// BagDots is kernels.BagDots, with a result for each id. All has been checked but offsets: what they are copies of may have changed since.
var BagDots func(dst []float32, b Bags) (done int)

// DotsAll is rowvec.DotsAll with rows that are a part of a table of so many elements.
var DotsAll func(dst, a, table kernels.Matrix, size int) error

// Copy copies src to dst, of the same shape, past the caches where that can be.
var Copy func(dst, src kernels.Matrix)

// Sinusoids is the kernel of that name, of what has been checked and is part of a result that is too large for the caches.
var Sinusoids func(dst kernels.Matrix, skip int, x, y, c []float64)

// Anchors is the method of w, for a number of columns that is a multiple of 16.
var Anchors func(w exact.Waves, x, y []float64, pos uint64)

// Next is rows of a table that come next, one for each id. They are only fetched, so that any id will do.
type Next struct {
	Table kernels.Matrix
	IDs   unsafe.Pointer // of Rows uint32, or uint64 if they are Wide
	Wide  bool
	Rows  int
}

// Fetch prefetches such rows, or what they begin with, into the second-level cache, for whoever is about to write them without a kernel.
// Any id will do.
var Fetch func(n Next)

// Ahead returns how many rows of a table to fetch ahead of those that are written, or 0 where there is no way or no use.
var Ahead func(table kernels.Matrix) int

// Drop is rows that elements of are dropped, from Src to Dst, which have elements.
type Drop struct {
	Dst, Src kernels.Matrix
	Mask     kernels.Mask
	Stream   bool // Dst is a part of what is too large for the caches; Src is scratch, which may be written to
	Next     Next // of as many columns, and no more rows than Dst
}

// Dropout is rowvec.Dropout for arguments that have all been checked. To work out masks leaves memory idle, and so it
// fetches the rows of Next into a cache of the core meanwhile. It reports whether it has: not from a table that sits in
// cache anyway.
var Dropout func(d Drop) (fetched bool)

// DropSums does Rows that have positions, whose arguments have all been checked, and drops elements of the sums as Dropout has it. It returns
// what Do does; where that is fewer than all rows, nothing may have been dropped yet. Scale counts even if not Scaled.
var DropSums func(r Rows, mask kernels.Mask) (done int)

// DropsSums reports whether one kernel does both for rows of so many columns, so that memory is read while masks are worked out, or else each
// step does all rows.
var DropsSums func(cols int) bool

// DropRows is Dropout of rows that are not next to each other: it sets row i of dst to row at[i] of src with what the mask, whose row 0
// is that of src, leaves of it. Dst has rows and columns, and all has been checked, at for good: nobody else may change it.
var DropRows func(dst, src kernels.Matrix, mask kernels.Mask, at []int)

// Update is a step of an optimizer on rows of Table, one for each row of Grad or each of its Places.
type Update struct {
	Method               Method
	Table, First, Second kernels.Matrix // and what the method keeps of it; RowAdagrad has one column
	IDs                  unsafe.Pointer // one uint32 for each, or uint64 if they are Wide; there are some
	Wide                 bool
	Grad                 kernels.Matrix
	Places               []int // the row of Grad for each id, with More behind, which nobody else may change; nil where these are all rows in their order
	Rate, Decay, Epsilon float32
	Adam                 kernels.AdamStep
	More                 int  // as of Rows
	Follows              bool // likewise
}

// Len returns the number of ids.
func (u *Update) Len() int {
	if u.Places != nil {
		return len(u.Places)
	}
	return u.Grad.Rows
}

// Method is an update of package rowvec.
type Method int

const (
	SGD Method = iota
	Adagrad
	RowAdagrad
	Adam
)

// Apply does an update, as Do does with the rest.
var Apply func(u Update) (done int)

// FillUniform is philox.Uniform.
var FillUniform = philox.Uniform

// FillNormal is philox.Normal.
var FillNormal = philox.Normal

// Quantizes reports whether there is assembly, at the level in use, for Quantize and QuantizedDots of rows of so many columns.
var Quantizes = func(cols int) bool { return false }

// Quantize is kernels.Quantize.
var Quantize = kernels.Quantize

// QuantizedDots is kernels.QuantizedDots. It leaves memory idle, and so the assembly, which does numbers of rows that are
// multiples of 4, fetches next into the second-level cache meanwhile.
var QuantizedDots = func(dst []int32, a, b []int16, n int, next kernels.Matrix) { kernels.QuantizedDots(dst, a, b, n) }
