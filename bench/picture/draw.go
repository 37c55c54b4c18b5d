package picture

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes in points.
const (
	margin    = 8
	titleSize = 16
	textSize  = 13.5
	tickSize  = 13
	leading   = 1.3 // of a line, in its size
	between   = 10  // panels
)

// style is that of text that starts at a point and stands on it.
func style(size float64, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		Handler: plot.DefaultTextHandler,
	}
}

// titleHeight is what a title takes, above legend and panels.
func (p *Picture) titleHeight() float64 { return float64(len(p.titleLines())) * titleSize * leading }

// titleLines breaks the title where it is too long for a line.
func (p *Picture) titleLines() []string {
	return wrap(p.Title, Width-2*margin, style(titleSize, Ink.rgba()))
}

// draw fills the canvas, which begins with the title where it is to have one.
func (p *Picture) draw(c draw.Canvas, titled bool) error {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	if titled {
		s := style(titleSize, Ink.rgba())
		s.YAlign = text.YTop
		for _, line := range p.titleLines() {
			c.FillText(s, vg.Point{X: c.Min.X, Y: c.Max.Y}, line)
			c.Max.Y -= titleSize * leading
		}
	}
	c.Max.Y -= p.drawLegend(c)

	plots := make([][]*plot.Plot, len(p.Panels))
	for i := range p.Panels {
		one, err := p.Panels[i].plot(len(p.Panels) > 2)
		if err != nil {
			return err
		}
		plots[i] = []*plot.Plot{one}
	}
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: between}
	for i, row := range plot.Align(plots, tiles, c) {
		plots[i][0].Draw(row[0])
	}
	return nil
}

// wrap breaks a text at spaces into lines of at most so many points.
func wrap(words string, width vg.Length, s text.Style) []string {
	var lines []string
	line, start := "", 0
	for end := 0; end <= len(words); end++ {
		if end < len(words) && words[end] != ' ' {
			continue
		}
		longer := words[start:end]
		if line != "" {
			longer = line + " " + longer
		}
		if line != "" && s.Width(longer) > width {
			lines = append(lines, line)
			longer = words[start:end]
		}
		line, start = longer, end+1
	}
	return append(lines, line)
}

// plot returns the axes of a panel and what is between them; low ones have fewer numbers at their sides.
func (p *Panel) plot(low bool) (*plot.Plot, error) {
	one := plot.New()
	one.BackgroundColor = nil
	one.Title.Text, one.Title.Padding = p.Heading, 3
	one.Title.TextStyle = style(textSize, Ink.rgba())
	one.Title.TextStyle.XAlign, one.Title.TextStyle.YAlign = text.XCenter, text.YTop
	from, to := p.span()
	ticks := mostTicks
	if low {
		ticks = mostTicksLo
	}
	setAxis(&one.X, &p.X, from.X, to.X, mostTicks)
	setAxis(&one.Y, &p.Y, from.Y, to.Y, ticks)

	if p.Heat == nil {
		lines := plotter.NewGrid()
		lines.Horizontal = draw.LineStyle{Color: grid, Width: 0.7}
		lines.Vertical = lines.Horizontal
		one.Add(lines)
	} else {
		one.X.Padding, one.Y.Padding = 0, 0
		height, width := len(p.Heat.Rows), len(p.Heat.Rows[0])
		one.Add(plotter.NewImage(p.Heat.image(), -0.5, -0.5, float64(width)-0.5, float64(height)-0.5))
	}
	for _, s := range p.Series {
		if err := p.add(&s, one); err != nil {
			return nil, err
		}
	}
	if len(p.Labels) > 0 {
		one.Add(&labels{p})
	}
	// What is drawn must not widen the axes.
	from, to = p.place(from), p.place(to)
	one.X.Min, one.X.Max, one.Y.Min, one.Y.Max = from.X, to.X, from.Y, to.Y
	return one, nil
}

func setAxis(to *plot.Axis, a *Axis, low, high float64, most int) {
	to.Label.Text, to.Label.Padding = a.Label, 3
	to.Label.TextStyle.Font = style(textSize, nil).Font
	to.Label.TextStyle.Color = Ink.rgba()
	to.Tick.Label.Font = style(tickSize, nil).Font
	to.Tick.Label.Color = Ink.rgba()
	to.LineStyle.Color, to.Tick.LineStyle.Color = Ink.rgba(), Ink.rgba()
	to.LineStyle.Width, to.Tick.LineStyle.Width, to.Tick.Length = 0.8, 0.8, 4
	to.Padding = 4
	to.Tick.Marker = plot.ConstantTicks(a.ticks(low, high, most))
}

// place returns where on the axis a number is. gonum has a scale of logarithms too, but leaves room at the end of an axis for
// a label that it puts in the middle.
func (a *Axis) place(x float64) float64 {
	if a.Log {
		return math.Log10(x)
	}
	return x
}

// place returns where between the axes a point is.
func (p *Panel) place(at Point) Point { return Point{p.X.place(at.X), p.Y.place(at.Y)} }

// image has squares of several dots for a number, so that whoever makes it larger or smaller does not blur it much.
func (h *Heat) image() image.Image {
	height, width := len(h.Rows), len(h.Rows[0])
	const dots = 1000 // about as many as the picture itself has
	m, n := max(1, dots/width), max(1, dots/height)
	all := image.NewPaletted(image.Rect(0, 0, m*width, n*height), h.Scale.palette())
	for y := range n * height {
		row := h.Rows[height-1-y/n] // the first is the lowest
		for x := range m * width {
			all.SetColorIndex(x, y, h.Scale.shade(row[x/m]))
		}
	}
	return all
}

func (p *Panel) add(s *Series, one *plot.Plot) error {
	points := make(plotter.XYs, len(s.Points))
	for i, at := range s.Points {
		points[i] = plotter.XY(p.place(at))
	}
	if len(points) == 0 {
		return nil
	}
	if s.Line != NoLine {
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.LineStyle = s.lineStyle()
		one.Add(line)
	}
	if s.Mark != NoMark {
		marks, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		marks.GlyphStyle = s.glyphStyle()
		one.Add(marks)
	}
	return nil
}

func (s *Series) lineStyle() draw.LineStyle {
	l := draw.LineStyle{Color: s.Colour.rgba(), Width: 1.7}
	if s.Colour == Faint {
		l.Width = 0.9
	}
	if s.Line == Dashed {
		l.Dashes = []vg.Length{6, 4}
	}
	return l
}

// discs is a circle that is filled, which a screen draws better than gonum's of many corners.
type discs struct{}

func (discs) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	path.Move(vg.Point{X: at.X + s.Radius, Y: at.Y})
	path.Arc(at, s.Radius, 0, 2*math.Pi)
	path.Close()
	c.SetColor(s.Color)
	c.Fill(path)
}

// diamonds is a square that stands on a corner.
type diamonds struct{}

func (diamonds) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.FillPolygon(s.Color, []vg.Point{
		{X: at.X + s.Radius, Y: at.Y}, {X: at.X, Y: at.Y + s.Radius}, {X: at.X - s.Radius, Y: at.Y}, {X: at.X, Y: at.Y - s.Radius},
	})
}

func (s *Series) glyphStyle() draw.GlyphStyle {
	g := draw.GlyphStyle{Color: s.Colour.rgba(), Radius: 3.6, Shape: discs{}}
	switch s.Mark {
	case Dot:
		g.Radius = 1.8
	case Square:
		g.Shape = draw.BoxGlyph{}
	case Triangle:
		g.Shape, g.Radius = draw.PyramidGlyph{}, 4.2
	case Diamond:
		g.Shape, g.Radius = diamonds{}, 4.6
	}
	return g
}
