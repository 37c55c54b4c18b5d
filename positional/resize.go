package positional

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// Resize is an interpolation between positions, by which a table learned for one number of them becomes one for another:
// its row t is a weighted sum of the rows next to the place that t has among those of the source. The first row stays the
// first and the last the last, with all bits, and the others lie evenly in between: row t is at t*(from-1)/(to-1). A row
// that is at one of the source's is a copy of it; a single row is the first one. This is what PyTorch's interpolate does
// with align_corners=True, but for its places, which it computes in float32, so that they are off by the more the longer
// the table is, and its last row need not be the last one of the source.
//
// Weights come from the place as a fraction of integers, in float64, and are rounded to float32 once. The interpolation is
// linear in them, dst = W src, so that it can be trained through: the parameters are those of the source, Forward makes the
// table that a layer reads, and Backward takes the gradient of that back to them.
//
// A Resize holds no memory, and never changes: any number of goroutines may use it.
type Resize struct {
	prefix        int // rows in front, which stay as they are
	height, width axis
	grid          bool
}

// NewResize returns the linear interpolation of tables of from rows that gives to rows: one between rows s and s+1 at s+f
// is 1-f times the one plus f times the other. It is a ShapeError if from or to is below 1.
func NewResize(from, to int) (*Resize, error) {
	const op = "positional.NewResize"
	if err := check.AtLeast(op, "from", from, 1); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "to", to, 1); err != nil {
		return nil, err
	}
	return &Resize{height: axis{from, to, false}, width: axis{1, 1, false}}, nil
}

// NewGridResize returns the bicubic interpolation of tables whose rows are a grid, such as the patches of an image in a
// vision transformer, fromHeight x fromWidth row by row, that gives a grid of toHeight x toWidth. The prefix rows in front
// of the grid, those of a class token, say, stay as they are.
//
// The weights of the 4 x 4 rows around a place are those of Keys, "Cubic convolution interpolation for digital image
// processing" (1981), with a = -0.75, as in PyTorch's mode "bicubic": the product of one for the height and one for the
// width, rounded to float32 once. Beyond the border the grid goes on with the rows of the border, whose weights add up
// before they are rounded. It is a ShapeError if prefix is below 0, if another argument is below 1, or if a table of so
// many rows cannot be.
func NewGridResize(prefix, fromHeight, fromWidth, toHeight, toWidth int) (*Resize, error) {
	return newGridResize("positional.NewGridResize", prefix, fromHeight, fromWidth, toHeight, toWidth)
}

func newGridResize(op string, prefix, fromHeight, fromWidth, toHeight, toWidth int) (*Resize, error) {
	if err := check.AtLeast(op, "prefix", prefix, 0); err != nil {
		return nil, err
	}
	if err := checkGrid(op, prefix, "fromHeight", fromHeight, "fromWidth", fromWidth); err != nil {
		return nil, err
	}
	if err := checkGrid(op, prefix, "toHeight", toHeight, "toWidth", toWidth); err != nil {
		return nil, err
	}
	return &Resize{prefix, axis{fromHeight, toHeight, true}, axis{fromWidth, toWidth, true}, true}, nil
}

// checkGrid checks that there can be so many rows, of a prefix that is at least 0 and of a grid.
func checkGrid(op string, prefix int, heightName string, height int, widthName string, width int) error {
	if err := check.AtLeast(op, heightName, height, 1); err != nil {
		return err
	}
	if err := check.AtLeast(op, widthName, width, 1); err != nil {
		return err
	}
	return check.AtMost(op, heightName, height, (math.MaxInt-prefix)/width)
}

// From returns the number of rows of the source.
func (r *Resize) From() int { return r.prefix + r.height.from*r.width.from }

// To returns the number of rows of the result.
func (r *Resize) To() int { return r.prefix + r.height.to*r.width.to }

// String returns, for instance, "Resize(512 to 2048)" or "Resize(1 + 14 x 14 to 1 + 24 x 24)".
func (r *Resize) String() string {
	if !r.grid {
		return fmt.Sprintf("Resize(%d to %d)", r.From(), r.To())
	}
	prefix := ""
	if r.prefix > 0 {
		prefix = fmt.Sprintf("%d + ", r.prefix)
	}
	return fmt.Sprintf("Resize(%s%d x %d to %[1]s%[4]d x %d)", prefix, r.height.from, r.width.from, r.height.to, r.width.to)
}

// Forward sets dst to the table that src becomes. The products of a row are added up from +0, in the order of the rows of
// src, each rounded before the sum is.
//
// src has From rows and dst has To, of equal length; strides are free. Errors: ShapeError, OverlapError if dst shares
// memory with src; then dst is as it was.
func (r *Resize) Forward(dst, src rowvec.Matrix) error {
	const op = "positional.Resize.Forward"
	if err := check.Shape(op, "dst", dst, r.To(), src.Cols); err != nil {
		return err
	}
	if err := check.Shape(op, "src", src, r.From(), src.Cols); err != nil {
		return err
	}
	if err := check.Apart(op, "dst", dst, "src", src); err != nil || dst.Cols == 0 { // rows without end, perhaps
		return err
	}
	var p parts
	for first := 0; first < dst.Rows; first += p.rows {
		r.parts(&p, first)
		some := check.Window(dst, first, p.rows, 0, dst.Cols)
		// Nobody changes the ids meanwhile, and all else has been checked.
		rowvec.BagSum(some, src, p.ids[:p.len()], p.offsets[:p.rows+1], p.weights[:p.len()])
		for i, s := range p.copies[:p.rows] {
			if s >= 0 {
				copy(some.Row(i), src.Row(s))
			}
		}
	}
	return nil
}

// Backward adds to dSrc the gradient of src, given the gradient dDst of the result of Forward: for t ascending, each row of
// dSrc that row t is made of grows by its weight times row t of dDst, the product rounded before the sum.
//
// dSrc has the shape of src and dDst that of dst; strides are free. Errors: ShapeError, OverlapError if dSrc shares memory
// with dDst; then dSrc is as it was.
func (r *Resize) Backward(dSrc, dDst rowvec.Matrix) error {
	const op = "positional.Resize.Backward"
	if err := check.Shape(op, "dSrc", dSrc, r.From(), dDst.Cols); err != nil {
		return err
	}
	if err := check.Shape(op, "dDst", dDst, r.To(), dDst.Cols); err != nil {
		return err
	}
	if err := check.Apart(op, "dSrc", dSrc, "dDst", dDst); err != nil || dDst.Cols == 0 { // rows without end, perhaps
		return err
	}
	var p parts
	for first := 0; first < dDst.Rows; first += p.rows {
		r.parts(&p, first)
		for i, s := range p.copies[:p.rows] {
			row := dDst.Row(first + i)
			if s >= 0 {
				rowvec.Add(dSrc.Row(s), row)
			}
			for k := p.offsets[i]; k < p.offsets[i+1]; k++ {
				rowvec.AddScaled(dSrc.Row(p.ids[k]), p.weights[k], row)
			}
		}
	}
	return nil
}

// Resized returns the encoding with the table that NewResize interpolates to max rows; l stays as it is. To train on
// through the interpolation, keep l's table as the parameters and use a Resize. It is a ShapeError if max is below 1 or if
// the table cannot be addressed.
func (l *Learned) Resized(max int) (*Learned, error) {
	const op = "positional.Learned.Resized"
	if err := check.AtLeast(op, "max", max, 1); err != nil {
		return nil, err
	}
	r, err := NewResize(l.Limit(), max)
	if err != nil {
		return nil, err
	}
	return l.resized(op, "max", r)
}

// ResizedGrid returns the encoding with the table that NewGridResize interpolates, prefix rows and then a grid; l stays as
// it is. Errors are those of NewGridResize, also ShapeError if prefix + fromHeight*fromWidth is not the number of rows of
// l, or if the table cannot be addressed.
func (l *Learned) ResizedGrid(prefix, fromHeight, fromWidth, toHeight, toWidth int) (*Learned, error) {
	const op = "positional.Learned.ResizedGrid"
	r, err := newGridResize(op, prefix, fromHeight, fromWidth, toHeight, toWidth)
	if err != nil {
		return nil, err
	}
	if err := check.Equal(op, "prefix + fromHeight*fromWidth", r.From(), l.Limit()); err != nil {
		return nil, err
	}
	return l.resized(op, "prefix + toHeight*toWidth", r)
}

func (l *Learned) resized(op, rowsName string, r *Resize) (*Learned, error) {
	table, err := check.NewTable(op, rowsName, r.To(), "dim", l.Dim())
	if err != nil {
		return nil, err
	}
	return &Learned{table}, r.Forward(table, l.table)
}

// axis is an interpolation of numbered places: from of them become to.
type axis struct {
	from, to int
	cubic    bool
}

// point is what one place of the result is made of: n places of the source, ascending, and their weights.
type point struct {
	n      int
	at     [4]int
	weight [4]float64
}

// point returns what place t is made of. The place among those of the source is t*(from-1)/(to-1), whose integer part and
// remainder are exact.
func (a axis) point(t int) point {
	if t == 0 {
		return point{1, [4]int{0}, [4]float64{1}}
	}
	high, low := bits.Mul64(uint64(t), uint64(a.from-1))
	whole, rest := bits.Div64(high, low, uint64(a.to-1)) // high < to-1, since t <= to-1
	s := int(whole)
	if rest == 0 {
		return point{1, [4]int{s}, [4]float64{1}}
	}
	span := float64(a.to - 1)
	f, g := float64(rest)/span, float64(uint64(a.to-1)-rest)/span // the distances to s and to s+1, which there is
	if !a.cubic {
		return point{2, [4]int{s, s + 1}, [4]float64{g, f}}
	}
	p := point{2, [4]int{s, s + 1}, [4]float64{inner(f), inner(g)}}
	if s == 0 { // the row before it is it once more, and likewise at the end
		p.weight[0] += outer(f, g)
	} else {
		p = point{3, [4]int{s - 1, s, s + 1}, [4]float64{outer(f, g), p.weight[0], p.weight[1]}}
	}
	if s+2 == a.from {
		p.weight[p.n-1] += outer(g, f)
	} else {
		p.at[p.n], p.weight[p.n] = s+2, outer(g, f)
		p.n++
	}
	return p
}

// Keys's kernel with a = -0.75, at the distance x <= 1: (a+2)x^3 - (a+3)x^2 + 1.
func inner(x float64) float64 {
	return float64(float64((float64(1.25*x)-2.25)*x)*x) + 1
}

// The same at the distance 1+x, with y = 1-x: a(x^3 - 2x^2 + x) = axy^2.
func outer(x, y float64) float64 { return float64(-0.75 * x * y * y) }

// parts is what some rows of the result are made of: the bags of a BagSum, and for a row that is a copy an empty one.
type parts struct {
	rows    int
	ids     [partsIDs]int
	weights [partsIDs]float32
	offsets [partsRows + 1]int
	copies  [partsRows]int // the row that is copied, or -1
}

const (
	partsRows = 64
	partsIDs  = 4 * partsRows // of 16 rows of a grid at least
)

func (p *parts) len() int { return p.offsets[p.rows] }

// parts sets p to the rows from first on, as many as there is room for.
func (r *Resize) parts(p *parts, first int) {
	var y point
	last := -1
	n := 0
	for p.rows = 0; p.rows < min(partsRows, r.To()-first) && n+16 <= partsIDs; p.rows++ {
		t := first + p.rows - r.prefix
		copied := t + r.prefix
		if t >= 0 {
			if row := t / r.width.to; row != last {
				y, last = r.height.point(row), row
			}
			x := r.width.point(t % r.width.to)
			copied = -1
			if y.n == 1 && x.n == 1 {
				copied = r.prefix + y.at[0]*r.width.from + x.at[0]
			} else {
				for i := range y.n {
					for j := range x.n {
						p.ids[n] = r.prefix + y.at[i]*r.width.from + x.at[j]
						p.weights[n] = float32(y.weight[i] * x.weight[j])
						n++
					}
				}
			}
		}
		p.copies[p.rows], p.offsets[p.rows+1] = copied, n
	}
}
