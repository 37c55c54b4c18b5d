package picture

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const labelSize = 12

// labels are those of a panel, as gonum's plots draw them.
type labels struct{ panel *Panel }

func (l *labels) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	place := func(at Point) vg.Point {
		at = l.panel.place(at)
		return vg.Point{X: toX(at.X), Y: toY(at.Y)}
	}
	var marks []mark
	for _, s := range l.panel.Series {
		weight := 8.0
		if s.Colour == Faint {
			weight = 0.25
		}
		for i, at := range s.Points {
			if s.Mark != NoMark {
				marks = append(marks, mark{place(at), weight})
			}
			if i > 0 && s.Line != NoLine {
				for _, at := range along(place(s.Points[i-1]), place(at)) {
					marks = append(marks, mark{at, 1.2})
				}
			}
		}
	}
	var words []word
	for _, x := range l.panel.Labels {
		s := style(labelSize, nil)
		words = append(words, word{place(x.At), s.Width(x.Text), labelSize})
	}
	for i, box := range arrange(words, marks, c.Rectangle) {
		x := l.panel.Labels[i]
		at := words[i].at
		// A line leads to a label that has found room only further away.
		near := vg.Point{X: min(max(at.X, box.Min.X), box.Max.X), Y: min(max(at.Y, box.Min.Y), box.Max.Y)}
		if dx, dy := near.X-at.X, near.Y-at.Y; math.Hypot(float64(dx), float64(dy)) > 8 {
			c.StrokeLine2(draw.LineStyle{Color: Faint.rgba(), Width: 0.6}, at.X, at.Y, near.X, near.Y)
		}
		c.FillText(style(labelSize, x.Colour.rgba()), vg.Point{X: box.Min.X, Y: box.Min.Y + 0.22*labelSize}, x.Text)
	}
}

// along returns points of a line, a few points apart from each other.
func along(a, b vg.Point) (all []vg.Point) {
	const step = 5
	n := math.Ceil(math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y)) / step)
	for k := 0.0; k < n; k++ {
		part := vg.Length(k / n)
		all = append(all, vg.Point{X: a.X + part*(b.X-a.X), Y: a.Y + part*(b.Y-a.Y)})
	}
	return all
}

// word is a label to be placed: the point that it belongs to, and its size.
type word struct {
	at            vg.Point
	width, height vg.Length
}

// mark is a point that is better not covered.
type mark struct {
	at     vg.Point
	weight float64
}

// arrange returns a place for each word within bounds: near its point, over no other word, and over few marks.
func arrange(words []word, marks []mark, bounds vg.Rectangle) []vg.Rectangle {
	placed := make([]vg.Rectangle, 0, len(words))
	for _, w := range words {
		best, least := vg.Rectangle{}, math.Inf(1)
		for ring := range 8 {
			r := 6 + 7*vg.Length(ring)
			for k := range 16 {
				sin, cos := math.Sincos(float64(k) * math.Pi / 8)
				// The middle of the word, so that its nearest side is about r away.
				x := w.at.X + vg.Length(cos)*(r+w.width/2)
				y := w.at.Y + vg.Length(sin)*(r+w.height/2)
				box := vg.Rectangle{
					Min: vg.Point{X: x - w.width/2, Y: y - w.height/2},
					Max: vg.Point{X: x + w.width/2, Y: y + w.height/2},
				}
				if cost := cost(box, placed, marks, bounds) + 1.5*float64(ring) + 0.01*float64(k); cost < least {
					best, least = box, cost
				}
			}
		}
		placed = append(placed, best)
	}
	return placed
}

// cost says how bad a place is: out of bounds, over other words, over marks.
func cost(box vg.Rectangle, placed []vg.Rectangle, marks []mark, bounds vg.Rectangle) float64 {
	sum := 0.0
	if box.Min.X < bounds.Min.X || box.Max.X > bounds.Max.X || box.Min.Y < bounds.Min.Y || box.Max.Y > bounds.Max.Y {
		sum += 1000
	}
	for _, other := range placed {
		const room = 5 // between two words on one line
		other.Min.X, other.Max.X = other.Min.X-room, other.Max.X+room
		if overlap(box, other) {
			sum += 100
		}
	}
	for _, m := range marks {
		const room = 3
		if overlap(box, vg.Rectangle{
			Min: vg.Point{X: m.at.X - room, Y: m.at.Y - room}, Max: vg.Point{X: m.at.X + room, Y: m.at.Y + room},
		}) {
			sum += m.weight
		}
	}
	return sum
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}
