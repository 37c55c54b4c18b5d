package main

import (
	"fmt"
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/bench/picture"
	"github.com/rowvec/rowvec/positional"
)

// Positions are drawn at this dim; other dims look alike.
const (
	drawnDim       = 128
	drawnPositions = 50
	drawnOffsets   = 100
)

// sinusoids returns the vectors of positions from 0 on.
func sinusoids(n int) (rowvec.Matrix, error) {
	m := newMatrix(n, drawnDim)
	s, err := positional.NewSinusoidal(0, drawnDim)
	if err != nil {
		return m, err
	}
	return m, s.Fill(m, 0)
}

// positionPictures are those of sinusoidal positions.
func positionPictures() ([]*picture.Picture, error) {
	m, err := sinusoids(3 * drawnOffsets)
	if err != nil {
		return nil, err
	}
	off, err := errorPicture()
	return []*picture.Picture{heatPicture(m), wavePicture(m), vectorPicture(m), cosinePicture(m), distancePicture(m), off}, err
}

// float64s returns the first n rows.
func float64s(m rowvec.Matrix, n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		for _, x := range m.Row(i) {
			rows[i] = append(rows[i], float64(x))
		}
	}
	return rows
}

func heatPicture(m rowvec.Matrix) *picture.Picture {
	return &picture.Picture{
		Name: "positions", Title: "Sinusoidal positions, element by element", Height: 330,
		Text: fmt.Sprintf("Each row is the vector of a position. Sines and cosines take turns; the first dims change from one "+
			"position to the next, the last ones hardly within all %d.", drawnPositions),
		Panels: []picture.Panel{{
			X: picture.Axis{Label: fmt.Sprintf("dim, of %d", m.Cols)}, Y: picture.Axis{Label: "position in tokens"},
			Heat: &picture.Heat{
				Rows:  float64s(m, drawnPositions),
				Scale: picture.Scale{Label: "value", Signed: true, Min: -1, Max: 1},
			},
		}},
	}
}

// drawnWaves are dims that are drawn as waves.
var drawnWaves = []int{0, 1, 8, 16, 32, 64}

func wavePicture(m rowvec.Matrix) *picture.Picture {
	p := &picture.Picture{
		Name: "waves", Title: "Single dims are waves", Height: 700,
		Text: "A dim is a wave over positions: a sine if it is even, a cosine if it is odd. From one pair of dims to the next " +
			"waves grow longer by the same factor, from 6 positions to tens of thousands.",
	}
	for i, dim := range drawnWaves {
		s := picture.Series{Colour: picture.Blue, Mark: picture.Dot}
		name := "sine"
		if dim%2 == 1 {
			s.Colour, name = picture.Vermilion, "cosine"
		}
		for pos := range drawnOffsets {
			s.Points = append(s.Points, picture.Point{X: float64(pos), Y: float64(m.Row(pos)[dim])})
		}
		panel := picture.Panel{
			Heading: fmt.Sprintf("dim %d, a %s, %.3g positions long", dim, name, wavelength(dim, drawnDim)),
			X:       picture.Axis{Max: drawnOffsets}, Y: picture.Axis{Label: "value", Min: -1.1, Max: 1.1, Ticks: []float64{-1, 0, 1}},
			Series: []picture.Series{s},
		}
		if i == len(drawnWaves)-1 {
			panel.X.Label = "position in tokens"
		}
		p.Panels = append(p.Panels, panel)
	}
	return p
}

func vectorPicture(m rowvec.Matrix) *picture.Picture {
	p := &picture.Picture{
		Name: "vectors", Title: "The vectors of four positions", Height: 640,
		Text: "Position 0 is zeros and ones. The further a position is from the start, the more dims have left these values, " +
			"from the left to the right: a vector says where it stands as the hands of many clocks do.",
	}
	for i, pos := range []int{0, 10, 25, 50} {
		sines := picture.Series{Name: "sines, even dims", Colour: picture.Blue, Mark: picture.Dot}
		cosines := picture.Series{Name: "cosines, odd dims", Colour: picture.Vermilion, Line: picture.Dashed}
		for dim, x := range m.Row(pos) {
			s := &sines
			if dim%2 == 1 {
				s = &cosines
			}
			s.Points = append(s.Points, picture.Point{X: float64(dim), Y: float64(x)})
		}
		panel := picture.Panel{
			Heading: fmt.Sprintf("position %d", pos),
			X:       picture.Axis{Max: drawnDim},
			Y:       picture.Axis{Label: "value", Min: -1.1, Max: 1.1, Ticks: []float64{-1, 0, 1}},
			Series:  []picture.Series{sines, cosines},
		}
		if i == 3 {
			panel.X.Label = fmt.Sprintf("dim, of %d", drawnDim)
		}
		p.Panels = append(p.Panels, panel)
	}
	return p
}

// cosineMatrix returns the similarity of each of the first n rows to each.
func cosineMatrix(m rowvec.Matrix, n int) (rows [][]float64, least float64) {
	least = 1
	for i := range n {
		row := make([]float64, n)
		for j := range row {
			row[j] = cosine(m.Row(i), m.Row(j))
			least = min(least, row[j])
		}
		rows = append(rows, row)
	}
	return rows, least
}

func cosinePicture(m rowvec.Matrix) *picture.Picture {
	rows, least := cosineMatrix(m, drawnOffsets)
	return &picture.Picture{
		Name: "cosines", Title: "Cosine similarity between positions", Height: 440,
		Text: "Positions resemble those next to them, and how much depends on nothing but how far they are apart: along each " +
			"diagonal the colour is the same.",
		Panels: []picture.Panel{{
			X: picture.Axis{Label: "position in tokens"}, Y: picture.Axis{Label: "position in tokens"},
			Heat: &picture.Heat{Rows: rows, Scale: picture.Scale{Label: "cosine", Min: math.Floor(least*10) / 10, Max: 1}},
		}},
	}
}

func distancePicture(m rowvec.Matrix) *picture.Picture {
	from := func(pos, step int, s picture.Series) picture.Series {
		for k := 0; k <= drawnOffsets; k += step {
			s.Points = append(s.Points, picture.Point{X: float64(k), Y: apart(m.Row(pos), m.Row(pos+k))})
		}
		return s
	}
	return &picture.Picture{
		Name: "distances", Title: "Distance against offset", Height: 300,
		Text: "How far the vectors of two positions are apart depends on the offset alone, wherever the first one is, and it " +
			"grows fastest between neighbours. To move on by an offset is to rotate each pair of dims by an angle.",
		Panels: []picture.Panel{{
			X: picture.Axis{Label: "offset in tokens"}, Y: picture.Axis{Label: "Euclidean distance", Min: 0, Max: 2 * math.Ceil(apart(m.Row(0), m.Row(drawnOffsets))/2)},
			Series: []picture.Series{
				from(0, 1, picture.Series{Name: "from position 0", Colour: picture.Blue}),
				from(drawnOffsets/2, 5, picture.Series{Name: "from 50", Colour: picture.Vermilion, Line: picture.NoLine, Mark: picture.Disc}),
				from(2*drawnOffsets-1, 7, picture.Series{Name: "from 199", Colour: picture.Green, Line: picture.NoLine, Mark: picture.Triangle}),
			},
		}},
	}
}

// drawnErrors returns positions in steps of about the same factor.
func drawnErrors() []int64 {
	var all []int64
	for e := 0; e <= 37; e++ {
		if pos := int64(math.Round(math.Pow(10, float64(e)/4))); pos < math.MaxInt {
			all = append(all, pos)
		}
	}
	return all
}

func errorPicture() (*picture.Picture, error) {
	r, err := measurePositions([]int{drawnDim}, drawnErrors())
	if err != nil {
		return nil, err
	}
	ours := picture.Series{Name: "rowvec", Colour: picture.Blue, Line: picture.NoLine, Mark: picture.Disc}
	usual := picture.Series{Name: "float32 code", Colour: picture.Vermilion, Mark: picture.Square}
	for _, x := range r.Results {
		for _, s := range []struct {
			series *picture.Series
			off    float64
		}{{&ours, x.Sinusoidal}, {&usual, x.Float32}} {
			if s.off > 0 { // 0 has no place on the axis
				s.series.Points = append(s.series.Points, picture.Point{X: float64(x.Position), Y: s.off})
			}
		}
	}
	last := r.Results[len(r.Results)-1].Position
	half := picture.Series{Name: "half a float32 step next to 1", Colour: picture.Ink, Line: picture.Dashed, Points: []picture.Point{
		{X: 1, Y: 0x1p-25}, {X: float64(last), Y: 0x1p-25}}}
	return &picture.Picture{
		Name: "errors", Title: "Error of angles by position", Height: 340,
		Text: fmt.Sprintf("The largest error of the %d elements of a position. Code that multiplies positions and frequencies in "+
			"float32, as is usual, loses a digit with every digit of the position, until nothing is left; that of rowvec stays at the "+
			"rounding of the result.", drawnDim),
		Panels: []picture.Panel{{
			X:      picture.Axis{Label: "position in tokens", Log: true},
			Y:      picture.Axis{Label: "largest error of an element", Log: true, Min: 1e-9, Max: 10},
			Series: []picture.Series{half, usual, ours},
		}},
	}, nil
}
