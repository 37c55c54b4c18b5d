package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/positional"
)

func TestPositionsCommand(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run([]string{"positions", "-quick", "-json"}, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("exit status %d: %s", status, &errs)
	}
	var r positionsReport
	in := json.NewDecoder(&out)
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if r.Host.CPU != thisHost().CPU || len(r.Memory) != 6 || r.Variance.Dim != 64 || r.Beyond.Dim != 64 || len(r.Differences) != 4 || len(r.Rotations) != 4 ||
		len(r.Similarities) != 2 || len(r.Results) < 5 || len(r.Levels) != len(isa.Available) || r.Order.Steps != quickSteps ||
		!slices.Equal(r.Order.Levels, r.Levels) {
		t.Errorf("%+v", r)
	}
	// What is printed is the same again: the report of the JSON, part by part.
	out.Reset()
	if status := run([]string{"positions", "-quick", "-workers", "2"}, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("exit status %d: %s", status, &errs)
	}
	r.Order.Learned = newMatrix(orderMax, orderDim) // of which the text has the size
	for i, want := range []string{
		r.Host.String() + "\n\n" + r.memoryText(), r.Variance.text(), r.Beyond.text(), r.differencesText(), r.rotationsText(), r.similaritiesText(),
		r.table(), r.Order.heading(), r.Order.line(), r.Order.conclusion(),
		"    learned    2,048      512     1,048,576       4.0\n", " sinusoidal      any      512             0       0.0\n",
		"start is 512, want at most 511", "   64             512     ", "same bits at\n                    " + r.Levels[0], "100.0%",
		"none               never           50.0%                   50.0%\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("part %d: no %q in\n%s", i, want, &out)
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line); n > 91 && !strings.HasPrefix(line, r.Host.CPU) {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestPositionsNowhereToWrite: no part is worked out that nobody can read.
func TestPositionsNowhereToWrite(t *testing.T) {
	wrong := errors.New("disk full")
	calls := 0
	_, err := reportPositions(true, orderSettings{}, func(string) error {
		calls++
		return wrong
	})
	if err != wrong || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

func TestPositionErrors(t *testing.T) {
	positions := []int64{512, 2047, 65535, 999999, 1 << 24}
	r, err := measurePositions([]int{64, 512}, append(positions, 1<<31-1))
	if err != nil {
		t.Fatal(err)
	}
	if math.MaxInt > math.MaxInt32 {
		positions = append(positions, 1<<31-1)
	}
	if len(r.Results) != 2*len(positions) || len(r.Levels) != len(isa.Available) {
		t.Fatalf("%+v", r)
	}
	// What the float32 code was once measured to be off by, at dim 64.
	known := map[int64]float64{512: 1e-5, 2047: 6e-5, 65535: 1e-3, 999999: 2e-2}
	for i, x := range r.Results {
		if x.Dim != []int{64, 512}[i/len(positions)] || x.Position != positions[i%len(positions)] {
			t.Errorf("line %d is %+v", i, x)
		}
		bound := 6e-8
		if x.Position >= 1<<24 {
			bound = 1e-6
		}
		ours := max(x.Sinusoidal, x.Rotary)
		if !(x.Sinusoidal > 0 && x.Rotary > 0 && ours <= bound && x.Float32 > 50*ours && x.Float32 <= 2) {
			t.Errorf("%+v", x)
		}
		if want := known[x.Position]; x.Dim == 64 && want > 0 && !(x.Float32 > want/3 && x.Float32 < 3*want) {
			t.Errorf("%+v, want about %g", x, want)
		}
	}
	if text := r.table(); !strings.Contains(text, "  512         999,999     ") {
		t.Error(text)
	}
}

// TestUsualCode holds the stand-in for the usual code to what PyTorch gave, whose exponentials are off by an ulp or two: most
// elements are the same, and no other is further away than such a frequency takes it.
func TestUsualCode(t *testing.T) {
	for _, c := range reference.SinusoidCases(t) {
		div, same, all := usualFrequencies(c.Dim), 0, 0
		for i, position := range c.At {
			for j, want := range c.Torch.Row(i) {
				sin, cos := usual(int64(position), div[j/2])
				got := []float32{sin, cos}[j%2]
				slip := float64(position) * float64(div[j/2]) * 0x1p-22
				if !(math.Abs(float64(got)-float64(want)) <= slip+1e-7) {
					t.Errorf("%s: position %d, column %d: %v, by PyTorch %v", c.Name, position, j, got, want)
				}
				if all++; got == want {
					same++
				}
			}
		}
		if same < all*2/3 {
			t.Errorf("%s: %d of %d elements are PyTorch's", c.Name, same, all)
		}
	}
}

// TestMeasurePositions: an odd dim has no last cosine, and a single column is one sine.
func TestMeasurePositions(t *testing.T) {
	r, err := measurePositions([]int{1, 3}, []int64{0, 100})
	if err != nil || len(r.Results) != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, x := range r.Results {
		if exact := x.Position == 0; (x.Sinusoidal == 0) != exact || x.Sinusoidal > 3.1e-8 || (x.Float32 == 0) != exact {
			t.Errorf("%+v", x)
		}
	}
	// Next to 0, float64 is exact enough to say what the largest errors are.
	for _, dim := range []int{16, 33, 64} {
		for position := int64(1); position < 40; position += 3 {
			r, err := measurePositions([]int{dim}, []int64{position})
			if err != nil {
				t.Fatal(err)
			}
			row, div := must1(positionRow(must1(positional.NewSinusoidal(0, dim)).Fill, dim, int(position))), usualFrequencies(dim)
			ours, theirs := 0.0, 0.0
			for j, x := range row {
				sin, cos := math.Sincos(float64(position) * math.Pow(10000, -float64(j-j%2)/float64(dim)))
				want := []float64{sin, cos}[j%2]
				usualSin, usualCos := usual(position, div[j/2])
				ours = max(ours, math.Abs(float64(x)-want))
				theirs = max(theirs, math.Abs(float64([]float32{usualSin, usualCos}[j%2])-want))
			}
			if x := r.Results[0]; math.Abs(x.Sinusoidal-ours) > 1e-13 || math.Abs(x.Float32-theirs) > 1e-13 {
				t.Errorf("%+v, want %g and %g", x, ours, theirs)
			}
		}
	}
	if _, err := measurePositions([]int{0}, nil); err == nil {
		t.Error("no error for no columns")
	}
}
