package picture

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dpi makes the PNG three dots wide for each point.
const dpi = 3 * 72

// PNG returns the picture with its title.
func (p *Picture) PNG() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	c := vgimg.NewWith(vgimg.UseWH(Width, vg.Length(p.Height+p.titleHeight())), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(paper))
	if err := p.draw(draw.New(c), true); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}

// SVG returns the picture with its title, on white.
func (p *Picture) SVG() ([]byte, error) {
	s, err := p.svg(true)
	if err != nil {
		return nil, err
	}
	return []byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + s), nil
}

// inline returns the picture as an element of a page, which has its title elsewhere. Paper is transparent, and the colours
// that stand out from it are variables of the page.
func (p *Picture) inline() (string, error) {
	s, err := p.svg(false)
	for name, c := range map[string]color.NRGBA{
		"ink": Ink.rgba(), "faint": Faint.rgba(), "blue": Blue.rgba(), "grid": grid,
	} {
		s = strings.ReplaceAll(s, hex(c), "var(--"+name+")")
	}
	return s, err
}

// hex is how gonum's SVG has a colour.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// svg returns an element that needs nothing else: where Liberation's fonts are missing others take their place, and text is
// as wide in them.
func (p *Picture) svg(titled bool) (string, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	height := p.Height
	if titled {
		height += p.titleHeight()
	}
	c := vgsvg.New(Width, vg.Length(height))
	if titled {
		whole := draw.New(c)
		c.SetColor(paper)
		c.Fill(whole.Rectangle.Path())
	}
	if err := p.draw(draw.New(c), titled); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(b.String(), "xlink\">\n") // after the start of the root element
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%g" viewBox="0 0 %[1]d %[2]g">`+
		"\n<title>%[3]s</title>\n", Width, height, html.EscapeString(p.Title))
	body = strings.ReplaceAll(body, "xlink:href=", `preserveAspectRatio="none" href=`)
	body = strings.ReplaceAll(body, "data:image/jpg;", "data:image/png;")
	body = strings.ReplaceAll(body, "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "")
	body = textElement.ReplaceAllStringFunc(body, withLength)
	return head + `<g font-family="'Liberation Sans', Arial, Helvetica, Roboto, sans-serif">` + "\n" +
		strings.Replace(body, "</svg>", "</g>\n</svg>", 1), nil
}

var textElement = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// withLength says how wide a text is.
func withLength(element string) string {
	m := textElement.FindStringSubmatch(element)
	size, err := strconv.ParseFloat(m[2], 64)
	width := style(size, nil).Width(html.UnescapeString(m[3])).Points()
	if err != nil || !(width > 0) {
		return element
	}
	return fmt.Sprintf(`<text textLength="%.2f" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, width, m[1], m[3])
}
