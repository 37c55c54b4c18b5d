package reference

import (
	"encoding/json"
	"io/fs"
	"math"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

// TestFiles loads every file strictly, so that no field of a file is without a reader.
func TestFiles(t *testing.T) {
	read := map[string]int{
		"forward.json":      len(ForwardCases(t)),
		"scatter.json":      len(ScatterCases(t)),
		"embedding.json":    len(EmbeddingCases(t)),
		"positions.json":    len(PositionsCases(t)),
		"resize.json":       len(ResizeCases(t)),
		"grid.json":         len(GridCases(t)),
		"layer.json":        len(LayerCases(t)),
		"bert.json":         len(BERTCases(t)),
		"sinusoid.json":     len(SinusoidCases(t)),
		"layouts.json":      len(LayoutCases(t)),
		"vector.json":       len(VectorCases(t)),
		"options.json":      len(OptionsCases(t)),
		"pretrained.json":   len(PretrainedCases(t)),
		"embeddingbag.json": len(EmbeddingBagCases(t)),
		"bagoptions.json":   len(BagOptionsCases(t)),
		"bagmax.json":       len(BagMaxCases(t)),
		"training.json":     len(TrainingCases(t)),
		"decayed.json":      len(DecayedCases(t)),
		"adagrad.json":      len(AdagradCases(t)),
		"lazyadamw.json":    len(LazyAdamWCases(t)),
		"accumulated.json":  len(AccumulatedCases(t)),
		"clip.json":         len(ClipCases(t)),
		"update.json":       len(UpdateCases(t)),
		"rowadagrad.json":   len(RowAdagradCases(t)),
		"bag.json":          len(BagCases(t)),
		"output.json":       len(OutputCases(t)),
		"sampled.json":      len(SampledCases(t)),
		"tied.json":         len(TiedCases(t)),
		"checkpoint.json":   len(CheckpointCases(t)),
		"norm.json":         len(NormCases(t)),
		"scaling.json":      len(ScalingCases(t)),
		"alibi.json":        len(ALiBiCases(t)),
		"t5buckets.json":    len(BucketsCases(t)),
		"t5bias.json":       len(RelativeBiasCases(t)),
		"rotary.json":       len(RotaryCases(t)),
		"axes.json":         len(AxesCases(t)),

		"bagfrequency.json":  len(BagFrequencyCases(t)),
		"positionfacts.json": len(PositionFactsCases(t)),
	}
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(read) {
		t.Errorf("files %v, of which %d have a reader", names, len(read))
	}
	total := 0
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		total += len(text)
		if read[name] == 0 {
			t.Errorf("%s has no reader", name)
		}
	}
	if total > 950_000 {
		t.Errorf("the files have %d bytes; they go into every clone", total)
	}
}

// TestSpecial checks that the files hold what random numbers do not reach.
func TestSpecial(t *testing.T) {
	seen := map[uint32]bool{}
	for _, c := range ForwardCases(t) {
		for _, x := range c.Gathered.Data {
			seen[math.Float32bits(x)] = true
		}
	}
	for _, bits := range []uint32{
		0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0xff812345, 1, 0x807fffff, 0x00800000, 0x7f7fffff,
	} {
		if !seen[bits] {
			t.Errorf("no case has the bits %08x", bits)
		}
	}
}

func TestDecode(t *testing.T) {
	var m Matrix
	if err := json.Unmarshal([]byte(`{"rows": 1, "cols": 2, "data": "AACAPwAAAMA="}`), &m); err != nil {
		t.Fatal(err)
	}
	if m.Rows != 1 || m.Cols != 2 || m.Stride != 2 || m.Data[0] != 1 || m.Data[1] != -2 {
		t.Errorf("got %v, want 1 and -2", m)
	}
	for _, bad := range []string{
		`{"rows": 2, "cols": 2, "data": "AACAPwAAAMA="}`,
		`{"rows": 1, "cols": 1, "data": "AACAPwAAAMA="}`,
		`{"rows": 1, "cols": 2, "data": "AACAPwAAAM"}`,
		`{"rows": -1, "cols": -2, "data": "AACAPwAAAMA="}`,
		`{"rows": 0, "cols": 2}`,
		`[1, -2]`,
	} {
		if json.Unmarshal([]byte(bad), &m) == nil {
			t.Errorf("%s is taken for a matrix", bad)
		}
	}
	var f Float
	if err := json.Unmarshal([]byte(`"c0000000"`), &f); err != nil || f != -2 {
		t.Errorf("got %v, %v, want -2", f, err)
	}
	if json.Unmarshal([]byte(`"1c0000000"`), &f) == nil {
		t.Error("nine digits are taken for a float32")
	}
	if cases, err := decode[Vector]([]byte(`{"about": "", "cases": [{"name": "a"}]}`)); err != nil || len(cases) != 1 {
		t.Errorf("%d cases, %v, want 1", len(cases), err)
	}
	for _, bad := range []string{`{"cases": [{"nom": "a"}]}`, `{"cases": []}`, `{"cases": [{"name": "a"}`} {
		if _, err := decode[Vector]([]byte(bad)); err == nil {
			t.Errorf("%s is taken for a file", bad)
		}
	}
}

// recorder counts the errors that a comparison reports.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }

// TestCompare checks that the comparisons find what differs.
func TestCompare(t *testing.T) {
	nan := float32(math.NaN())
	want := func(data ...float32) Matrix {
		return Matrix{kernels.Matrix{Rows: 2, Cols: len(data) / 2, Data: data, Stride: len(data) / 2}}
	}
	negative := float32(math.Copysign(0, -1))
	written := Copy(want(1, 2), 1)
	written.Data[1] = 7
	otherNaN := math.Float32frombits(0x7fc00007)
	for _, c := range []struct {
		name             string
		got              kernels.Matrix
		want             Matrix
		equal, identical bool
	}{
		{"itself", Copy(want(1, 2, 3, 4), 3), want(1, 2, 3, 4), true, true},
		{"NaN", Copy(want(1, nan), 0), want(1, otherNaN), true, false},
		{"NaN for a number", Copy(want(1, nan), 0), want(1, 2), false, false},
		{"number", Copy(want(1, 2), 0), want(1, 3), false, false},
		{"sign of zero", Copy(want(0, 1), 0), want(negative, 1), false, false},
		{"shape", Copy(want(1, 2), 0), want(1, 2, 3, 4), false, false},
		{"gap", written, want(1, 2), false, false},
	} {
		for _, how := range []struct {
			name    string
			compare func(testing.TB, string, kernels.Matrix, Matrix)
			pass    bool
		}{{"Equal", Equal, c.equal}, {"Identical", Identical, c.identical}} {
			r := recorder{TB: t}
			if how.compare(&r, "", c.got, c.want); (r.errors == 0) != how.pass {
				t.Errorf("%s, %s: %d errors", how.name, c.name, r.errors)
			}
		}
	}

	dOut := want(1, 2, 4, 8) // two batches of one position
	sum := Matrix{kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{5, 10}, Stride: 2}}
	for _, c := range []struct {
		x    float32
		pass bool
	}{{5, true}, {math.Nextafter32(5, 6), true}, {5 + 0x1p-19, false}, {nan, false}} {
		r := recorder{TB: t}
		got := Copy(sum, 0)
		got.Data[0] = c.x
		if CloseSums(&r, "", got, sum, dOut, 2); (r.errors == 0) != c.pass {
			t.Errorf("%v for 5: %d errors", c.x, r.errors)
		}
	}
}
