package picture

import (
	"image"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	sample = 18 // points that the line of a series has in the legend
	bar    = 110
	gap    = 6
)

// entry is a part of the legend.
type entry struct {
	width vg.Length
	draw  func(c draw.Canvas, at vg.Point) // at is where it begins, in the middle of its height
}

// drawLegend draws the scales and series of all panels at the top of the canvas and returns how much of it they took.
func (p *Picture) drawLegend(c draw.Canvas) vg.Length {
	all := p.legend()
	if len(all) == 0 {
		return gap
	}
	const line = textSize * leading
	x, y := c.Min.X, c.Max.Y-line/2
	for _, e := range all {
		if x > c.Min.X && x+e.width > c.Max.X {
			x, y = c.Min.X, y-line
		}
		e.draw(c, vg.Point{X: x, Y: y})
		x += e.width + 1.5*gap
	}
	return c.Max.Y - y + line/2 + gap
}

func (p *Picture) legend() []entry {
	var all []entry
	var scales []Scale
	var series []Series
	for _, panel := range p.Panels {
		if h := panel.Heat; h != nil && !slices.Contains(scales, h.Scale) {
			scales = append(scales, h.Scale)
			all = append(all, h.Scale.entry())
		}
		for _, s := range panel.Series {
			s.Points = nil
			same := func(x Series) bool {
				return x.Name == s.Name && x.Colour == s.Colour && x.Line == s.Line && x.Mark == s.Mark
			}
			if s.Name != "" && !slices.ContainsFunc(series, same) {
				series = append(series, s)
				all = append(all, s.entry())
			}
		}
	}
	return all
}

func legendStyle() text.Style {
	s := style(textSize, Ink.rgba())
	s.YAlign = text.YCenter
	return s
}

// entry of a scale is its label, its minimum, its colours and its maximum.
func (s Scale) entry() entry {
	t := legendStyle()
	low, high := number(s.Min), number(s.Max)
	first := t.Width(s.Label) + 2*gap
	colours := first + t.Width(low) + gap
	end := colours + bar + gap
	return entry{end + t.Width(high), func(c draw.Canvas, at vg.Point) {
		put := func(x vg.Length, words string) { c.FillText(t, vg.Point{X: at.X + x, Y: at.Y + 1}, words) }
		put(0, s.Label)
		put(first, low)
		put(end, high)
		strip := image.NewPaletted(image.Rect(0, 0, shades, 1), s.palette())
		for i := range shades {
			strip.SetColorIndex(i, 0, uint8(i))
		}
		c.DrawImage(vg.Rectangle{
			Min: vg.Point{X: at.X + colours, Y: at.Y - textSize/2 + 1},
			Max: vg.Point{X: at.X + colours + bar, Y: at.Y + textSize/2 - 1},
		}, strip)
	}}
}

// entry of a series is its line and its mark, and its name.
func (s Series) entry() entry {
	t := legendStyle()
	begin := vg.Length(sample)
	if s.Line == NoLine {
		begin = 10
	}
	return entry{begin + gap + t.Width(s.Name), func(c draw.Canvas, at vg.Point) {
		if s.Line != NoLine {
			c.StrokeLine2(s.lineStyle(), at.X, at.Y, at.X+begin, at.Y)
		}
		if s.Mark != NoMark {
			c.DrawGlyph(s.glyphStyle(), vg.Point{X: at.X + begin/2, Y: at.Y})
		}
		c.FillText(t, vg.Point{X: at.X + begin + gap, Y: at.Y + 1}, s.Name)
	}}
}
