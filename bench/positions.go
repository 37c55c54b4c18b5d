package main

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/exact/bigmath"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/positional"
)

const positionsUsage = `Usage: go run ./bench positions [flags]

Compares learned positions with sinusoidal ones, all from package positional: what they
weigh, how they vary, what comes beyond the trained length, how like each other they are by
distance, and the rotation that links sinusoidal ones. Then says how exact sinusoidal
positions and the sines and cosines of rotary ones are, near and far, against math/big: those
of package positional, at every instruction set of this machine, and those of the usual code
in float32, the same for both. Then trains learned positions on a small task of order, beside
sinusoidal ones and none at all. Fails if instruction sets do not agree bit for bit.

`

func runPositions(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("bench positions", positionsUsage, stderr)
	asJSON := flags.Bool("json", false, "print JSON")
	quick := flags.Bool("quick", false, "fewer sizes and a short training: a smoke test")
	seed := flags.Uint64("seed", 1, "of the task of order: another `number` is another training")
	workers := flags.Int("workers", 1, "`goroutines` of the layers that are trained")
	if status, done := parse(flags, args); done {
		return status
	}
	if *workers < 1 || *workers > mostWorkers {
		fmt.Fprintf(stderr, "bench: -workers must be from 1 to %s\n", thousands(mostWorkers))
		return 2
	}
	o := orderSettings{steps: orderSteps, checks: orderChecks, seed: *seed, workers: *workers}
	if *quick {
		o.steps = quickSteps
	}
	if *asJSON {
		r, err := reportPositions(*quick, o, nil)
		if err == nil {
			err = writeJSON(stdout, r)
		}
		return exit(err, stderr)
	}
	_, err := reportPositions(*quick, o, func(text string) error {
		_, err := io.WriteString(stdout, text)
		return err
	})
	return exit(err, stderr)
}

// positionsReport is what the job has found out.
type positionsReport struct {
	Host         host                 `json:"host"`
	Memory       []positionMemory     `json:"memory"`
	Variance     *positionVariance    `json:"variance"`
	Beyond       *positionsBeyond     `json:"beyond"`
	Differences  []positionDifference `json:"differences"`
	Rotations    []positionRotation   `json:"rotations"`
	Similarities []positionSimilarity `json:"similarities"`
	Levels       []string             `json:"levels"` // that have the same bits
	Results      []positionError      `json:"results"`
	Order        *orderReport         `json:"order"`
}

const (
	variancePositions = 512
	rotationsFit      = 256
	similarPositions  = 512
)

// reportPositions works out the report, and calls show, if there is one, with each part of its text once it is known.
func reportPositions(quick bool, o orderSettings, show func(text string) error) (*positionsReport, error) {
	if show == nil {
		show = func(string) error { return nil }
	}
	dims, sizes := []int{64, 512}, [][2]int{{512, 768}, {1024, 768}, {2048, 512}, {2048, 12288}} // BERT, GPT-2, and GPT-3
	if quick {
		dims, sizes = dims[:1], sizes[:3]
	}
	dim := dims[len(dims)-1]
	r := &positionsReport{Host: thisHost()}
	if err := show(r.Host.String() + "\n\n"); err != nil {
		return nil, err
	}
	parts := []func() (string, error){
		func() (_ string, err error) {
			r.Memory, err = positionMemories(sizes)
			return r.memoryText(), err
		},
		func() (_ string, err error) {
			if r.Variance, err = positionVariances(variancePositions, dim); err != nil {
				return "", err
			}
			return r.Variance.text(), nil
		},
		func() (_ string, err error) {
			r.Beyond, err = beyondTraining(variancePositions, dim, []int64{0, 511, 512, 1023, 999999, 1<<31 - 2})
			if err != nil {
				return "", err
			}
			return r.Beyond.text(), nil
		},
		func() (string, error) {
			for _, dim := range dims {
				x, err := positionDifferences(dim, []int{1, 15})
				if err != nil {
					return "", err
				}
				r.Differences = append(r.Differences, x...)
			}
			return r.differencesText(), nil
		},
		func() (string, error) {
			for _, dim := range dims {
				x, err := positionRotations(dim, rotationsFit, []int{1, 3, 15, 100})
				if err != nil {
					return "", err
				}
				r.Rotations = append(r.Rotations, x...)
			}
			return r.rotationsText(), nil
		},
		func() (string, error) {
			for _, dim := range dims {
				x, err := positionSimilarities(similarPositions, dim, []int{0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500})
				if err != nil {
					return "", err
				}
				r.Similarities = append(r.Similarities, x...)
			}
			return r.similaritiesText(), nil
		},
		func() (string, error) {
			x, err := measurePositions(dims, []int64{512, 2047, 65535, 999999, 1 << 24, 1<<31 - 1})
			if err != nil {
				return "", err
			}
			r.Levels, r.Results = x.Levels, x.Results
			return r.table(), nil
		},
	}
	for _, part := range parts {
		text, err := part()
		if err == nil {
			err = show(text + "\n\n")
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	r.Order, err = learnOrder(o, func(x *orderReport) error {
		text := x.line()
		if x.first() {
			text = x.heading() + text
		}
		return show(text)
	})
	if err != nil {
		return nil, err
	}
	return r, show(r.Order.conclusion())
}

// positionError is a line of the report: the largest absolute errors of the elements of one position.
type positionError struct {
	Dim        int     `json:"dim"`
	Position   int64   `json:"position"`
	Sinusoidal float64 `json:"sinusoidal"`
	Rotary     float64 `json:"rotary"` // 0 if the dim is odd
	Float32    float64 `json:"float32"`
}

func measurePositions(dims []int, positions []int64) (*positionsReport, error) {
	r := &positionsReport{Levels: thisHost().Levels}
	for _, dim := range dims {
		s, err := positional.NewSinusoidal(0, dim)
		if err != nil {
			return nil, err
		}
		angles := func(rowvec.Matrix, int) error { return nil }
		if dim%2 == 0 {
			r, err := positional.NewRotary(dim)
			if err != nil {
				return nil, err
			}
			angles = r.Angles
		}
		frequencies := make([]*big.Float, (dim+1)/2)
		for i := range frequencies {
			frequencies[i] = bigmath.Frequency(10000, 2*i, dim)
		}
		div := usualFrequencies(dim)
		for _, position := range positions {
			if position >= math.MaxInt { // where an int has 32 bits
				continue
			}
			row, err := positionRow(s.Fill, dim, int(position))
			if err != nil {
				return nil, err
			}
			turns, err := positionRow(angles, dim, int(position))
			if err != nil {
				return nil, err
			}
			x := positionError{Dim: dim, Position: position}
			for i, f := range frequencies {
				angle := new(big.Float).SetPrec(320).SetInt64(position)
				sin, cos := bigmath.SinCos(angle.Mul(angle, f))
				usualSin, usualCos := usual(position, div[i])
				x.Sinusoidal = max(x.Sinusoidal, bigmath.Diff(float64(row[2*i]), sin))
				if dim%2 == 0 {
					turned := max(bigmath.Diff(float64(turns[i]), cos), bigmath.Diff(float64(turns[dim/2+i]), sin))
					x.Rotary = max(x.Rotary, turned)
				}
				x.Float32 = max(x.Float32, bigmath.Diff(float64(usualSin), sin))
				if 2*i+1 < dim {
					x.Sinusoidal = max(x.Sinusoidal, bigmath.Diff(float64(row[2*i+1]), cos))
					x.Float32 = max(x.Float32, bigmath.Diff(float64(usualCos), cos))
				}
			}
			r.Results = append(r.Results, x)
		}
	}
	return r, nil
}

// positionRow returns what fill makes of a position, which must be the same at every instruction set.
func positionRow(fill func(dst rowvec.Matrix, start int) error, dim, position int) ([]float32, error) {
	var first []float32
	for _, level := range isa.Available {
		m, err := rowvec.NewMatrix(1, dim)
		if err != nil {
			return nil, err
		}
		undo := isa.Set(level)
		err = fill(m, position)
		undo()
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = m.Data
		} else if !slices.Equal(first, m.Data) {
			return nil, fmt.Errorf("position %d, dim %d: %v differs from %v", position, dim, level, isa.Available[0])
		}
	}
	return first, nil
}

// The usual code computes exp(arange(0, dim, 2) * (-log(10000)/dim)) and the sines and cosines of position times that, in
// float32 throughout. The functions here round each step to float32, as NumPy and PyTorch do, and have each exponential and
// each sine and cosine as exact as a float32 can be, which those of NumPy and PyTorch come near.

func usualFrequencies(dim int) []float32 {
	factor := float32(-exact.Log(10000) / float64(dim))
	frequencies := make([]float32, (dim+1)/2)
	for i := range frequencies {
		frequencies[i] = float32(exact.Exp(float64(float32(2*i) * factor)))
	}
	return frequencies
}

func usual(position int64, frequency float32) (sin, cos float32) {
	s, c := exact.SinCos(float64(float32(position) * frequency))
	return float32(s), float32(c)
}

const positionsLegend = `
sinusoidal, rotary  positional.Sinusoidal and positional.Rotary, the same bits at
                    %s
float32             the usual code of NumPy and PyTorch: position * exp(arange(0, dim, 2)
                    * (-log(10000)/dim)), each step rounded to float32, and of that a
                    sine and a cosine as exact as a float32 can be
Half a step of a float32 next to 1 is 3.0e-08.
`

// table prints at most 90 columns.
func (r *positionsReport) table() string {
	var b strings.Builder
	b.WriteString("Largest absolute error of the sines and cosines of a position\n\n")
	fmt.Fprintf(&b, "%5s%16s%13s%10s%10s\n", "dim", "position", "sinusoidal", "rotary", "float32")
	for i, x := range r.Results {
		if i > 0 && r.Results[i-1].Dim != x.Dim {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%5d%16s%13.1e%10.1e%10.1e\n", x.Dim, thousands(int(x.Position)), x.Sinusoidal, x.Rotary, x.Float32)
	}
	fmt.Fprintf(&b, positionsLegend, strings.Join(r.Levels, ", "))
	return b.String()
}
