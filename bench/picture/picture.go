// Package picture draws pictures of embeddings, as PNG and SVG, and the page that shows them all. What they show is worked
// out elsewhere: a picture has its data, its labels and its sentence.
package picture

import (
	"fmt"
	"math"
	"slices"
)

// Picture is a title, a legend and panels, from top to bottom. A legend lies above all panels, where it covers no data.
type Picture struct {
	Name   string // of the files, without an extension
	Title  string
	Text   string  // a sentence or two for the page
	Height float64 // in points, of legend and panels; Width is that of every picture
	Panels []Panel
}

// Width and the sizes of fonts are such that a telephone that shows a picture over its whole width leaves it readable.
const Width = 420 // points

// Panel is what two axes have between them: a heat map below, series and labels above it.
type Panel struct {
	Heading string
	X, Y    Axis
	Heat    *Heat
	Series  []Series
	Labels  []Label
}

// Axis has a label with a unit and goes from Min to Max, or where those are equal as far as the data.
type Axis struct {
	Label    string
	Log      bool
	Min, Max float64
	Ticks    []float64 // nil for round numbers
}

// Heat is a map of numbers: that in row y and column x is the colour of the square around (x, y).
type Heat struct {
	Rows  [][]float64
	Scale Scale
}

// Scale says what colours mean. One that is signed has to have its middle at 0; its colours are blue, white and red, and
// else those of viridis.
type Scale struct {
	Label    string
	Signed   bool
	Min, Max float64
}

// Point is one in the coordinates of the axes.
type Point struct{ X, Y float64 }

// Series is a line, marks, or both. Series of one name and look have one entry in the legend; without a name they have none.
type Series struct {
	Name   string
	Points []Point
	Colour Colour
	Line   Line
	Mark   Mark
}

// Line is how the points of a series are connected.
type Line int

const (
	Solid Line = iota
	Dashed
	NoLine
)

// Mark is what stands at each point of a series.
type Mark int

const (
	NoMark Mark = iota
	Dot         // small
	Disc
	Square
	Triangle
	Diamond
)

// Label is a word beside a point, at a place where it covers no other label.
type Label struct {
	At     Point
	Text   string
	Colour Colour
}

// check reports what cannot be drawn.
func (p *Picture) check() error {
	if p.Name == "" || p.Title == "" || !(p.Height > 0) || len(p.Panels) == 0 {
		return fmt.Errorf("picture %q: no name, title, height or panel", p.Name)
	}
	for i, panel := range p.Panels {
		if err := panel.check(); err != nil {
			return fmt.Errorf("picture %q, panel %d: %w", p.Name, i, err)
		}
	}
	return nil
}

func (p *Panel) check() error {
	points := 0
	if h := p.Heat; h != nil {
		if len(h.Rows) == 0 || len(h.Rows[0]) == 0 || !(h.Scale.Min < h.Scale.Max) {
			return fmt.Errorf("heat map of nothing, or scale from %v to %v", h.Scale.Min, h.Scale.Max)
		}
		if h.Scale.Signed && h.Scale.Min != -h.Scale.Max {
			return fmt.Errorf("signed scale from %v to %v", h.Scale.Min, h.Scale.Max)
		}
		for y, row := range h.Rows {
			if len(row) != len(h.Rows[0]) {
				return fmt.Errorf("row %d has %d numbers, row 0 has %d", y, len(row), len(h.Rows[0]))
			}
			if slices.ContainsFunc(row, func(z float64) bool { return !finite(z) }) {
				return fmt.Errorf("row %d has a number that is not finite", y)
			}
		}
		points++
	}
	for _, at := range p.points() {
		if !finite(at.X) || !finite(at.Y) || p.X.Log && at.X <= 0 || p.Y.Log && at.Y <= 0 {
			return fmt.Errorf("there is no place for (%v, %v)", at.X, at.Y)
		}
		points++
	}
	if points == 0 {
		return fmt.Errorf("there is nothing in it")
	}
	return nil
}

// points returns those of all series and labels.
func (p *Panel) points() []Point {
	var all []Point
	for _, s := range p.Series {
		all = append(all, s.Points...)
	}
	for _, l := range p.Labels {
		all = append(all, l.At)
	}
	return all
}

// span returns where the axes begin and end.
func (p *Panel) span() (low, high Point) {
	low, high = Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	add := func(at Point) {
		low.X, low.Y = min(low.X, at.X), min(low.Y, at.Y)
		high.X, high.Y = max(high.X, at.X), max(high.Y, at.Y)
	}
	for _, at := range p.points() {
		add(at)
	}
	if p.Heat != nil {
		add(Point{-0.5, -0.5})
		add(Point{float64(len(p.Heat.Rows[0])) - 0.5, float64(len(p.Heat.Rows)) - 0.5})
	}
	if len(p.Labels) > 0 && p.Heat == nil { // words need room
		const part = 0.08
		dx, dy := part*(high.X-low.X), part*(high.Y-low.Y)
		low, high = Point{low.X - dx, low.Y - dy}, Point{high.X + dx, high.Y + dy}
	}
	p.X.widen(&low.X, &high.X)
	p.Y.widen(&low.Y, &high.Y)
	return low, high
}

// widen sets what the axis has bounds for, and leaves no axis without length.
func (a *Axis) widen(low, high *float64) {
	if a.Min < a.Max {
		*low, *high = a.Min, a.Max
	}
	switch {
	case *low < *high:
	case a.Log:
		*low, *high = *low/2, *high*2
	default:
		*low, *high = *low-1, *high+1
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
