package picture

import (
	"image/color"
	"math"
)

// Colour is one that readers who see few colours can tell from the others: those of Okabe and Ito, "Color universal design"
// (2008), but for yellow, which is hard to see on white, and black, which is hard to see on black.
type Colour int

const (
	Blue Colour = iota
	Vermilion
	Green
	Purple
	Orange
	Sky
	Faint // what stays in the background
	Ink   // that of text
)

var colours = [...]color.NRGBA{
	Blue:      {0x00, 0x72, 0xb2, 0xff},
	Vermilion: {0xd5, 0x5e, 0x00, 0xff},
	Green:     {0x00, 0x9e, 0x73, 0xff},
	Purple:    {0xcc, 0x79, 0xa7, 0xff},
	Orange:    {0xe6, 0x9f, 0x00, 0xff},
	Sky:       {0x56, 0xb4, 0xe9, 0xff},
	Faint:     {0x9a, 0x9c, 0xa1, 0xff},
	Ink:       {0x1d, 0x1d, 0x20, 0xff},
}

// The other colours that a page in a dark theme has others for.
var (
	paper = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	grid  = color.NRGBA{0xe3, 0xe4, 0xe6, 0xff}
)

func (c Colour) rgba() color.NRGBA { return colours[c] }

// viridis has the colours of that name of matplotlib, by van der Walt and Smith, in equal steps. They are as far apart to
// readers who see few colours, and grow lighter all the way.
var viridis = []uint32{
	0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b, 0xfde725,
}

// blueRed has ColorBrewer's RdBu of 11 classes, which Brewer and Harrower list as safe for readers who see few colours.
var blueRed = []uint32{
	0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7, 0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b, 0x67001f,
}

// shades is how many colours a scale has.
const shades = 256

// palette returns the colours of a scale from its minimum to its maximum.
func (s *Scale) palette() color.Palette {
	anchors := viridis
	if s.Signed {
		anchors = blueRed
	}
	all := make(color.Palette, shades)
	for i := range all {
		at := float64(i) / (shades - 1) * float64(len(anchors)-1)
		k := min(int(at), len(anchors)-2)
		part := at - float64(k)
		mix := func(shift uint) uint8 {
			a, b := float64(anchors[k]>>shift&0xff), float64(anchors[k+1]>>shift&0xff)
			return uint8(math.Round(a + part*(b-a)))
		}
		all[i] = color.NRGBA{mix(16), mix(8), mix(0), 0xff}
	}
	return all
}

// shade returns the place of z in the palette. What lies beyond the scale has the colour of its end.
func (s *Scale) shade(z float64) uint8 {
	part := (z - s.Min) / (s.Max - s.Min)
	return uint8(math.Round(min(1, max(0, part)) * (shades - 1)))
}
