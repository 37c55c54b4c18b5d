package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// samples have everything that a picture can have.
func samples() []*Picture {
	return []*Picture{
		{
			Name: "heat", Title: "Numbers & <signs>", Text: "Warm & <cold>.", Height: 300,
			Panels: []Panel{{
				X: Axis{Label: "x"}, Y: Axis{Label: "y"},
				Heat: &Heat{Rows: [][]float64{{-1, 0}, {0.5, 1}, {2, -2}}, Scale: Scale{"value", true, -2, 2}},
			}},
		},
		{
			Name: "lines", Title: "Lines with a title that is far too long for a single line of such a narrow picture", Text: "Up.", Height: 500,
			Panels: []Panel{
				{
					Heading: "above", X: Axis{Label: "x", Log: true}, Y: Axis{Label: "y", Log: true},
					Series: []Series{
						{Name: "steep", Points: []Point{{1, 1e-6}, {1e3, 1}, {1e9, 1e6}}, Mark: Disc},
						{Name: "flat", Points: []Point{{1, 1}, {1e9, 1}}, Colour: Vermilion, Line: Dashed, Mark: Square},
					},
				},
				{
					Heading: "below", X: Axis{Label: "x"}, Y: Axis{Label: "y", Max: 3},
					Series: []Series{
						{Name: "flat", Points: []Point{{1, 2}, {4, 2}}, Colour: Vermilion, Line: Dashed, Mark: Square},
						{Name: "points", Points: []Point{{1, 1}, {2, 2}}, Colour: Faint, Line: NoLine, Mark: Triangle},
						{Points: []Point{{3, 1}}, Colour: Green, Mark: Diamond},
					},
					Labels: []Label{{Point{1, 1}, "one & only", Ink}, {Point{2, 2}, "<two>", Blue}},
				},
			},
		},
	}
}

func TestPNG(t *testing.T) {
	for _, p := range samples() {
		b, err := p.PNG()
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		height := int(math.Round((p.Height + p.titleHeight()) * dpi / 72))
		if size := m.Bounds().Size(); size.X != Width*dpi/72 || max(size.Y-height, height-size.Y) > 1 {
			t.Errorf("%s: %v, want height %d", p.Name, size, height)
		}
		seen := make(map[color.Color]bool)
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				seen[color.NRGBAModel.Convert(m.At(x, y))] = true
			}
		}
		want := []color.Color{paper, Ink.rgba()}
		if p.Name == "heat" {
			palette := p.Panels[0].Heat.Scale.palette()
			want = append(want, palette[0], palette[shades-1], palette[64])
		} else {
			want = append(want, Blue.rgba(), Vermilion.rgba(), Green.rgba(), Faint.rgba())
		}
		for _, c := range want {
			if !seen[c] {
				t.Errorf("%s has no %v", p.Name, c)
			}
		}
	}
}

// wellFormed returns the text in XML, and the names of its elements.
func wellFormed(t *testing.T, b []byte) (text string, elements []string) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text, elements
		} else if err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		switch x := token.(type) {
		case xml.CharData:
			text += string(x)
		case xml.StartElement:
			elements = append(elements, x.Name.Local)
			for _, a := range x.Attr {
				if a.Name.Local != "xmlns" && strings.Contains(a.Value, "http") {
					t.Errorf("%s has %s=%s", x.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestSVG(t *testing.T) {
	for _, p := range samples() {
		b, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		text, elements := wellFormed(t, b)
		inline, err := p.inline()
		if err != nil {
			t.Fatal(err)
		}
		inlineText, _ := wellFormed(t, []byte(inline))
		words := map[string][]string{
			"heat":  {"Numbers & <signs>", "value", "\u22122", "x", "y"},
			"lines": {"Lines with a title", "steep", "flat", "points", "one & only", "<two>", "above", "below", "100M", "1e-6"},
		}[p.Name]
		for _, word := range words {
			if !strings.Contains(text, word) || !strings.Contains(inlineText, word) {
				t.Errorf("%s: no %q in %q", p.Name, word, text)
			}
		}
		if strings.Count(text, "flat") > 1 {
			t.Errorf("%s: two entries in the legend for one look", p.Name)
		}
		if elements[0] != "svg" || !slices.Contains(elements, "path") || slices.Contains(elements, "image") != (p.Name == "heat") {
			t.Errorf("%s: %v", p.Name, elements)
		}
		if n := strings.Count(string(b), "<text "); n < 5 || n != strings.Count(string(b), "textLength=") {
			t.Errorf("%s: %d texts, %d of them with a width", p.Name, n, strings.Count(string(b), "textLength="))
		}
		for _, c := range []color.NRGBA{Ink.rgba(), Faint.rgba(), Blue.rgba(), grid, paper} {
			if strings.Contains(inline, hex(c)) {
				t.Errorf("%s: the page cannot change %s", p.Name, hex(c))
			}
		}
		if !strings.Contains(inline, "var(--ink)") || !strings.Contains(string(b), hex(paper)) || strings.Contains(string(b), "image/jpg") {
			t.Errorf("%s: colours of the page, paper or type of image", p.Name)
		}
		if n := strings.Count(inline, "<image "); n != strings.Count(inline, `preserveAspectRatio="none"`) {
			t.Errorf("%s: browsers do not stretch its images", p.Name)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, spoil := range map[string]func(heat, lines *Picture){
		"no name":                  func(heat, lines *Picture) { heat.Name = "" },
		"height":                   func(heat, lines *Picture) { heat.Height = math.NaN() },
		"panel 0: heat map of not": func(heat, lines *Picture) { heat.Panels[0].Heat.Rows = nil },
		"from 2 to 2":              func(heat, lines *Picture) { heat.Panels[0].Heat.Scale.Min = 2 },
		"signed scale from -2 to":  func(heat, lines *Picture) { heat.Panels[0].Heat.Scale.Max = 1 },
		"row 1 has 1 numbers":      func(heat, lines *Picture) { heat.Panels[0].Heat.Rows[1] = []float64{1} },
		"row 2 has a number that":  func(heat, lines *Picture) { heat.Panels[0].Heat.Rows[2][1] = math.Inf(1) },
		"panel 1: there is noth":   func(heat, lines *Picture) { lines.Panels[1] = Panel{} },
		"no place for (NaN, 1)":    func(heat, lines *Picture) { lines.Panels[1].Series[1].Points[0].X = math.NaN() },
		"no place for (0, 1)":      func(heat, lines *Picture) { lines.Panels[0].Series[1].Points[0].X = 0 },
		"no place for (1, -1e-06)": func(heat, lines *Picture) { lines.Panels[0].Series[0].Points[0].Y = -1e-6 },
	} {
		all := samples()
		spoil(all[0], all[1])
		var first error
		for _, p := range all {
			_, err1 := p.PNG()
			_, err2 := p.SVG()
			if (err1 == nil) != (err2 == nil) {
				t.Errorf("%v, %v", err1, err2)
			}
			first = errors.Join(first, err1)
		}
		if first == nil || !strings.Contains(first.Error(), want) {
			t.Errorf("error %v, want %q", first, want)
		}
	}
}

func TestSpan(t *testing.T) {
	all := samples()
	for _, x := range []struct {
		panel     Panel
		low, high Point
	}{
		{all[0].Panels[0], Point{-0.5, -0.5}, Point{1.5, 2.5}},
		{all[1].Panels[0], Point{1, 1e-6}, Point{1e9, 1e6}},
		{all[1].Panels[1], Point{1 - 0.24, 0}, Point{4.24, 3}},
		{Panel{Series: []Series{{Points: []Point{{5, 7}}}}, Y: Axis{Log: true}}, Point{4, 3.5}, Point{6, 14}},
	} {
		low, high := x.panel.span()
		for _, d := range []float64{low.X - x.low.X, low.Y - x.low.Y, high.X - x.high.X, high.Y - x.high.Y} {
			if math.Abs(d) > 1e-12 {
				t.Errorf("%v to %v, want %v to %v", low, high, x.low, x.high)
			}
		}
	}
}

// TestPalettes: what readers see who see no colours at all is an order, too.
func TestPalettes(t *testing.T) {
	light := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		return 0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)
	}
	plain, signed := (&Scale{Min: 0, Max: 1}).palette(), (&Scale{Signed: true, Min: -1, Max: 1}).palette()
	for i := 1; i < shades; i++ {
		if light(plain[i]) < light(plain[i-1])-0.002*0xffff { // but for rounding
			t.Errorf("viridis grows darker at %d", i)
		}
		if up := light(signed[i]) > light(signed[i-1]); up != (i <= shades/2) && i != shades/2 {
			t.Errorf("the signed scale goes the wrong way at %d", i)
		}
	}
	for i := range shades / 2 {
		a, b := light(signed[i]), light(signed[shades-1-i])
		if math.Abs(a-b) > 0.15*0xffff {
			t.Errorf("%d on both sides of 0 is %v and %v bright", i, a, b)
		}
	}
	s := Scale{Min: -1, Max: 3}
	for z, want := range map[float64]uint8{-5: 0, -1: 0, 1: 128, 3: 255, 7: 255} {
		if got := s.shade(z); got != want {
			t.Errorf("shade of %v is %d, want %d", z, got, want)
		}
	}
}

// TestImage: row 0 is below, column 0 on the left.
func TestImage(t *testing.T) {
	h := samples()[0].Panels[0].Heat
	m := h.image()
	size := m.Bounds().Size()
	palette := h.Scale.palette()
	for y, row := range h.Rows {
		for x, z := range row {
			px, py := (2*x+1)*size.X/(2*len(row)), size.Y-1-(2*y+1)*size.Y/(2*len(h.Rows))
			if got, want := m.At(px, py), palette[h.Scale.shade(z)]; got != want {
				t.Errorf("(%d, %d) is %v, want %v", x, y, got, want)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, x := range []struct {
		axis      Axis
		low, high float64
		want      string
	}{
		{Axis{}, 0, 100, "0 20 40 60 80 100"},
		{Axis{}, -0.5, 49.5, "0 10 20 30 40"},
		{Axis{}, -0.31, 0.62, "\u22120.2 0 0.2 0.4 0.6"},
		{Axis{}, 0, 0.35, "0 0.05 0.1 0.15 0.2 0.25 0.3 0.35"},
		{Axis{}, 0, 20000, "0 5,000 10k 15k 20k"},
		{Axis{Log: true}, 1, 1.8e9, "1 100 10k 1M 100M"},
		{Axis{Log: true}, 1e-9, 10, "1e-9 1e-7 1e-5 0.001 0.1 10"},
		{Axis{Log: true}, 1.5e6, 9e7, "2M 5M 10M 20M 50M"},
		{Axis{Log: true, Ticks: []float64{16, 1024}}, 16, 1024, "16 1,024"},
	} {
		var got []string
		for _, tick := range x.axis.ticks(x.low, x.high, 8) {
			got = append(got, tick.Label)
			if n := x.axis.place(x.low); tick.Value < n-1e-9 || tick.Value > x.axis.place(x.high)+1e-9 {
				t.Errorf("%v to %v: tick at %v", x.low, x.high, tick.Value)
			}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%v to %v: %v, want %s", x.low, x.high, got, x.want)
		}
	}
}

func TestWrap(t *testing.T) {
	s := style(10, nil)
	width := s.Width("aa bb")
	if got := wrap("aa bb cc ddddddddd e", width, s); !slices.Equal(got, []string{"aa bb", "cc", "ddddddddd", "e"}) {
		t.Errorf("%q", got)
	}
	if got := wrap("", width, s); !slices.Equal(got, []string{""}) {
		t.Errorf("%q", got)
	}
}

// TestArrange places more words than lie well by themselves.
func TestArrange(t *testing.T) {
	bounds := vg.Rectangle{Max: vg.Point{X: 300, Y: 200}}
	var words []word
	var marks []mark
	for i := range 24 {
		at := vg.Point{X: vg.Length(20 + i%6*50), Y: vg.Length(20 + i/6*50)}
		if i%2 == 1 {
			at = words[i-1].at // two at one place
		}
		words = append(words, word{at, 40, 10})
		marks = append(marks, mark{at, 2.5})
	}
	boxes := arrange(words, marks, bounds)
	for i, a := range boxes {
		if a.Min.X < 0 || a.Min.Y < 0 || a.Max.X > 300 || a.Max.Y > 200 {
			t.Errorf("%v is out of bounds", a)
		}
		for _, b := range boxes[:i] {
			if overlap(a, b) {
				t.Errorf("%v is over %v", a, b)
			}
		}
		if overlap(a, vg.Rectangle{Min: words[i].at, Max: vg.Point{X: words[i].at.X + 1, Y: words[i].at.Y + 1}}) {
			t.Errorf("%v covers its point %v", a, words[i].at)
		}
	}
}
