package positional

import (
	"fmt"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
)

// Grid is the fixed encoding of places in a grid, such as those of the patches of an image in a vision transformer. Position
// y*width + x is row y, column x, and its vector has four quarters: with f(i) = 10000^(-i/(dim/4)), for i < dim/4,
//
//	sin(x*f(i)), cos(x*f(i)), sin(y*f(i)), cos(y*f(i))
//
// as in get_2d_sincos_pos_embed of He et al., "Masked autoencoders are scalable vision learners" (2021), whose code names
// the first half after the height and gives it the column. Each element is off by at most half a unit in the last place of
// a float32 next to 1, and has the same bits on every machine.
type Grid struct {
	height, width int
	classTokens   int
	base          float64
	rowsFirst     bool
	lastFrequency bool
	table         rowvec.Matrix
}

// ClassTokens puts n rows of zeros in front of those of the grid, for tokens that have no place in it: 1 where a model
// begins with a class token, as those of ViT and MAE do.
func ClassTokens(n int) GridOption { return gridOption(func(g *Grid) { g.classTokens = n }) }

// RowsFirst gives the first half of a vector to the row y and the second to the column x. So the encoding of MoCo v3 (Chen,
// Xie, He, 2021) comes out, by the order in which its code numbers the grid.
func RowsFirst() GridOption { return gridOption(func(g *Grid) { g.rowsFirst = true }) }

// LastFrequency spreads the frequencies so that the last one is the inverse of the base: f(i) = 10000^(-i/(dim/4-1)), as in
// the code of Beyer, Zhai and Kolesnikov, "Better plain ViT baselines for ImageNet-1k" (2022), known as simple ViT. It takes
// a dim of at least 8.
func LastFrequency() GridOption { return gridOption(func(g *Grid) { g.lastFrequency = true }) }

// NewGrid returns the encoding of height x width places, with a table of all of them. It is a ShapeError if height or width
// is below 1, if dim is below 1 or no multiple of 4, if there are fewer than 0 class tokens, or if the table cannot be
// addressed, and a ValueError if the base is not a finite one above 1.
func NewGrid(height, width, dim int, options ...GridOption) (*Grid, error) {
	const op = "positional.NewGrid"
	g := &Grid{height: height, width: width, base: defaultBase}
	for _, option := range options {
		if !check.IsNil(option) {
			option.grid(g)
		}
	}
	if err := check.AtLeast(op, "class tokens", g.classTokens, 0); err != nil {
		return nil, err
	}
	if err := check.Room(op, "class tokens", g.classTokens, 4); err != nil {
		return nil, err
	}
	if err := checkGrid(op, g.classTokens, "height", height, "width", width); err != nil {
		return nil, err
	}
	least := 4
	if g.lastFrequency {
		least = 8
	}
	if err := check.AtLeast(op, "dim", dim, least); err != nil {
		return nil, err
	}
	if err := check.MultipleOf(op, "dim", dim, 4); err != nil {
		return nil, err
	}
	if err := checkBase(op, g.base); err != nil {
		return nil, err
	}
	table, err := check.NewTable(op, "class tokens + height*width", g.Limit(), "dim", dim)
	if err != nil {
		return nil, err
	}
	g.table = table
	g.compute()
	return g, nil
}

// compute fills the table: each vector of a coordinate once, and copies of it.
func (g *Grid) compute() {
	quarter := g.table.Cols / 4
	spread := quarter
	if g.lastFrequency {
		spread--
	}
	frequencies := make([]exact.Turns, quarter)
	exact.Frequencies(frequencies, g.base, 1, uint64(spread))
	column, row := 0, 2*quarter // where the halves begin
	if g.rowsFirst {
		column, row = row, column
	}
	half := func(y, x, first int) []float32 { return g.table.Row(g.classTokens + y*g.width + x)[first:][:2*quarter] }
	set := func(dst []float32, coordinate int) {
		for i, f := range frequencies {
			sin, cos := f.Times(uint64(coordinate)).SinCos()
			dst[i], dst[quarter+i] = float32(sin), float32(cos)
		}
	}
	for x := range g.width {
		set(half(0, x, column), x)
	}
	for y := range g.height {
		set(half(y, 0, row), y)
		for x := range g.width {
			copy(half(y, x, column), half(0, x, column))
			copy(half(y, x, row), half(y, 0, row))
		}
	}
}

// Kind returns "grid".
func (g *Grid) Kind() string { return "grid" }

// Dim returns the number of columns.
func (g *Grid) Dim() int { return g.table.Cols }

// Limit returns the number of positions, class tokens + height*width.
func (g *Grid) Limit() int { return g.classTokens + g.height*g.width }

// Trainable returns false: there are no parameters.
func (g *Grid) Trainable() bool { return false }

// Table returns all positions, without a copy. They are not to be written to.
func (g *Grid) Table() rowvec.Matrix { return g.table }

// String returns, for instance, "Grid(height=14, width=14, dim=768)"; what options have changed is named too, as in
// "Grid(height=14, width=14, dim=768, class tokens=1)".
func (g *Grid) String() string {
	text := fmt.Sprintf("Grid(height=%d, width=%d, dim=%d", g.height, g.width, g.Dim())
	if g.classTokens > 0 {
		text += fmt.Sprintf(", class tokens=%d", g.classTokens)
	}
	if g.base != defaultBase {
		text += fmt.Sprintf(", base=%v", g.base)
	}
	if g.rowsFirst {
		text += ", rows first"
	}
	if g.lastFrequency {
		text += ", last frequency"
	}
	return text + ")"
}

// Fill sets row i of dst to position start + i. dst has Dim columns; its stride is free. Errors: ShapeError, also if
// start + dst.Rows exceeds Limit; OverlapError if dst shares memory with the table; then dst is as it was. Without rows,
// start does not matter.
func (g *Grid) Fill(dst rowvec.Matrix, start int) error {
	return fillFrom("positional.Grid.Fill", dst, g.table, start)
}

// AddTo adds position start + i mod seq to row i of x, for each i.
//
// x has a multiple of seq rows and Dim columns; its stride is free. Errors: ShapeError, also if start + seq exceeds
// Limit; OverlapError if x shares memory with the table; then x is as it was. Without rows, seq and start do not matter.
func (g *Grid) AddTo(x rowvec.Matrix, seq, start int) error {
	return addFrom("positional.Grid.AddTo", x, g.table, seq, start)
}
