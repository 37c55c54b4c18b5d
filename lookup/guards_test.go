package lookup_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestGreatestOptions: the greatest numbers that options take are taken.
func TestGreatestOptions(t *testing.T) {
	for name, option := range map[string]lookup.Option{
		"Normal": lookup.Normal(math.MaxFloat32, 1), "MaxNorm": lookup.MaxNorm(math.MaxFloat64, 2), "Padding": lookup.Padding(1),
	} {
		if _, err := lookup.NewEmbedding(2, 1, option); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	tokens := must(lookup.NewEmbedding(2, 1))
	if _, err := lookup.NewLayer(tokens, nil, lookup.LayerNorm(math.MaxFloat32)); err != nil {
		t.Error(err)
	}
	// An option that is right hides none that is wrong.
	if _, err := lookup.NewEmbedding(2, 1, lookup.Padding(0), lookup.Workers(-1)); err == nil {
		t.Error("-1 workers beside padding id 0")
	}
}

// TestNil: the methods of nil pointers panic or return, and no fault ends the process, as that of a field far behind nil would.
func TestNil(t *testing.T) {
	for _, p := range []any{
		(*lookup.Bag)(nil), (*lookup.Embedding)(nil), (*lookup.Gradient)(nil), (*lookup.Layer)(nil), (*lookup.Neighbours)(nil),
		(*lookup.Optimizer)(nil), (*lookup.Output)(nil), (*lookup.Similarity)(nil),
	} {
		v := reflect.ValueOf(p)
		for i := range v.NumMethod() {
			var args []reflect.Value
			for k := range v.Method(i).Type().NumIn() {
				args = append(args, reflect.Zero(v.Method(i).Type().In(k)))
			}
			func() {
				defer func() { _ = recover() }()
				if method := v.Method(i); method.Type().IsVariadic() {
					method.CallSlice(args)
				} else {
					method.Call(args)
				}
			}()
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Norm takes nil")
		}
	}()
	lookup.Norm(nil)
}

// TestDropoutOfWideTables: dropout reaches to 2^36 columns, which nobody looks at while a layer is made.
func TestDropoutOfWideTables(t *testing.T) {
	if math.MaxInt == math.MaxInt32 || race.Enabled {
		t.Skip("a slice that is not there")
	}
	most := uint64(1) << 36
	for _, c := range []struct {
		dim uint64
		p   float64
		ok  bool
	}{{most, 0.5, true}, {most + 1, 0.5, false}, {most + 1, 0, true}} {
		dim := int(c.dim)
		wide := rowvec.Matrix{Rows: 1, Cols: dim, Stride: dim, Data: unsafe.Slice(new(float32), dim)}
		layer, err := lookup.NewLayer(must(lookup.FromMatrix(wide)), nil, lookup.Dropout(c.p, 1))
		if shape := (*rowvec.ShapeError)(nil); (err == nil) != c.ok || c.ok == (layer == nil) || !c.ok && !errors.As(err, &shape) {
			t.Errorf("dim %d, dropout %v: %v, error %v", c.dim, c.p, layer, err)
		}
	}
}

// TestNegativeIDsOfLongTables: the number that an id below 0 is without its sign may be that of a row.
func TestNegativeIDsOfLongTables(t *testing.T) {
	if math.MaxInt == math.MaxInt32 || race.Enabled {
		t.Skip("a slice that is not there")
	}
	memory, most := make([]float32, 2), uint64(math.MaxInt32)
	rows := int(most + 2)
	e := must(lookup.FromMatrix(rowvec.Matrix{Rows: rows, Cols: 1, Stride: 1, Data: unsafe.Slice(&memory[1], rows)}))
	layer := must(lookup.NewLayer(e, must(positional.NewLearned(1, 1, 1))))
	in, out := lookup.Sequence([]int32{math.MinInt32}), rowvec.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: memory[:1]}
	for _, forward := range []func(rowvec.Matrix, lookup.Input) error{e.Forward, layer.Forward} {
		if index := (*rowvec.IndexError)(nil); !errors.As(forward(out, in), &index) {
			t.Errorf("%v is taken", in)
		}
	}
}

// TestStepBatchOfAnotherTable has a table that begins where that of the optimizer does.
func TestStepBatchOfAnotherTable(t *testing.T) {
	m := filled(3, 4)
	o := must(lookup.NewOptimizer(must(lookup.FromMatrix(m)).Parameters()[0], lookup.SGD{Rate: 0.1}))
	for name, spoil := range map[string]func(m *rowvec.Matrix){
		"stride": func(m *rowvec.Matrix) { m.Stride-- },
		"rows":   func(m *rowvec.Matrix) { m.Rows-- },
		"cols":   func(m *rowvec.Matrix) { m.Cols-- },
	} {
		other := m
		spoil(&other)
		var value *rowvec.ValueError
		e, in := must(lookup.FromMatrix(other)), lookup.Sequence([]int{1})
		if err := o.StepBatch(e, in, filled(1, 4)); !errors.As(err, &value) {
			t.Errorf("another number of %s: %v", name, err)
		}
		if err := o.StepBags(must(lookup.NewBag(e, lookup.Sum)), in, filled(1, 4)); !errors.As(err, &value) {
			t.Errorf("bags, another number of %s: %v", name, err)
		}
	}
}

// TestStepBatchInTheMemoryOfIDs has ids, offsets and weights in the memory of a table and of states, all of zeros.
func TestStepBatchInTheMemoryOfIDs(t *testing.T) {
	table := must(rowvec.NewMatrix(3, 4))
	e := must(lookup.FromMatrix(table))
	o := must(lookup.NewOptimizer(e.Parameters()[0], lookup.Adam{Rate: 0.1}))
	for _, m := range []rowvec.Matrix{table, o.State()[0].Value, o.State()[1].Value} {
		name := "state"
		if &m.Data[0] == &table.Data[0] {
			name = "table"
		}
		ids := unsafe.Slice((*int)(unsafe.Pointer(&m.Data[0])), 2)
		for _, err := range []error{
			o.StepBatch(e, lookup.Sequence(ids), filled(2, 4)),
			o.StepBags(must(lookup.NewBag(e, lookup.Sum)), lookup.Sequence(ids), filled(1, 4)),
			o.StepBags(must(lookup.NewBag(e, lookup.Sum)), lookup.RaggedFrom([]int{1}, ids[:1]), filled(1, 4)),
			o.StepBags(must(lookup.NewBag(e, lookup.Sum)), lookup.Sequence([]int{1}).Weighted(m.Data[:1]), filled(1, 4)),
		} {
			if overlap := (*rowvec.OverlapError)(nil); !errors.As(err, &overlap) || overlap.Dst != name {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestFrozenBag: a frozen table has no gradient.
func TestFrozenBag(t *testing.T) {
	for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
		bag := must(lookup.NewBag(must(lookup.FromMatrix(filled(4, 3), lookup.Frozen())), pooling))
		g := must(lookup.NewGradient(4, 3))
		if err := bag.BackwardSparse(g, lookup.Batch([]int{1, 2}, 2), filled(1, 3)); err != nil || len(g.IDs()) != 0 {
			t.Errorf("%v: ids %v, error %v", pooling, g.IDs(), err)
		}
	}
}

// TestFrequencyInLayers: gradients divided by the number of occurrences are those of the tokens, which leave the positions'
// as they are; a frozen table has none.
func TestFrequencyInLayers(t *testing.T) {
	in, dOut := lookup.Sequence([]int{1, 2, 1}), filled(3, 5)
	gradients := func(options ...lookup.Option) (token, position []float32) {
		tokens := must(lookup.FromMatrix(filled(4, 5), options...))
		layer := must(lookup.NewLayer(tokens, must(positional.LearnedFrom(filled(6, 5)))))
		grads := layer.NewGradients()
		if err := layer.Backward(grads, in, dOut); err != nil {
			t.Fatal(err)
		}
		return grads[0].Data, grads[1].Data
	}
	_, want := gradients()
	for _, frozen := range []bool{false, true} {
		options := []lookup.Option{lookup.ScaleGradByFrequency()}
		if frozen {
			options = append(options, lookup.Frozen())
		}
		token, position := gradients(options...)
		if !slices.Equal(position, want) {
			t.Errorf("frozen %v: gradients of positions %v, want %v", frozen, position, want)
		}
		if zero := !slices.ContainsFunc(token, func(x float32) bool { return x != 0 }); zero != frozen {
			t.Errorf("frozen %v: gradients of tokens %v", frozen, token)
		}
	}
}

// TestEachPartOfInputsApart has a result share memory with one part of an input that has all of them, or that one alone,
// which an Embedding has no use for, nor a Bag for most.
func TestEachPartOfInputsApart(t *testing.T) {
	e := must(lookup.FromMatrix(filled(7, 2)))
	bag := must(lookup.NewBag(e, lookup.Sum))
	for _, shared := range []string{"ids", "weights", "positions", "types", "offsets"} {
		for _, alone := range []bool{false, true} {
			memory := make([]float32, 16)
			ints := func(name string, values ...int) []int {
				if name == shared {
					s := unsafe.Slice((*int)(unsafe.Pointer(unsafe.SliceData(memory))), len(values))
					copy(s, values)
					return s
				}
				return values
			}
			weights := []float32{1, 1}
			if shared == "weights" {
				weights = memory[:2]
			}
			in := lookup.Sequence(ints("ids", 1, 2))
			if !alone || shared == "offsets" {
				in = lookup.Ragged(ints("ids", 1, 2), ints("offsets", 0, 2))
			}
			if !alone || shared == "positions" {
				in = in.At(ints("positions", 0, 0))
			}
			if !alone || shared == "types" {
				in = in.Types(ints("types", 0, 0))
			}
			if !alone || shared == "weights" {
				in = in.Weighted(weights)
			}
			for _, err := range []error{
				e.Forward(rowvec.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: memory}, in),
				bag.Forward(rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: memory}, in),
			} {
				if overlap := (*rowvec.OverlapError)(nil); !errors.As(err, &overlap) || overlap.Src != shared {
					t.Errorf("%s, alone %v: %v", shared, alone, err)
				}
			}
		}
	}
}

// TestBeginningsApart: the offsets of few bags are copied, and still nothing to write over.
func TestBeginningsApart(t *testing.T) {
	memory := make([]float32, 4)
	offsets := unsafe.Slice((*int)(unsafe.Pointer(unsafe.SliceData(memory))), 1)
	bag := must(lookup.NewBag(must(lookup.FromMatrix(filled(3, 2))), lookup.Sum))
	err := bag.Forward(rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: memory}, lookup.RaggedFrom([]int{1, 2}, offsets))
	if overlap := (*rowvec.OverlapError)(nil); !errors.As(err, &overlap) || overlap.Src != "offsets" {
		t.Error(err)
	}
}

// TestLengthsOfInputs: there is one for each id of what an Embedding has no use for, nor a Bag, and a row for each bag.
func TestLengthsOfInputs(t *testing.T) {
	e := must(lookup.FromMatrix(filled(7, 2)))
	bag := must(lookup.NewBag(e, lookup.Sum))
	ids, out := []int{1, 2}, newMatrix(t, 2, 2)
	in := lookup.Sequence(ids)
	one := check.Window(out, 0, 1, 0, 2)
	for want, in := range map[string]lookup.Input{
		"len(positions) is 1, want 2": in.At([]int{0}),
		"len(types) is 3, want 2":     in.Types([]int{0, 0, 0}),
	} {
		if err := e.Forward(out, in); err == nil || err.Error() != "rowvec: lookup.Embedding.Forward: "+want {
			t.Errorf("%v, want %s", err, want)
		}
		if err := bag.Forward(one, in); err == nil || err.Error() != "rowvec: lookup.Bag.Forward: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, in := range map[string]lookup.Input{
		"dst.Rows is 2, want 3":      lookup.RaggedFrom(ids, []int{0, 1, 2}),
		"offsets[0] is 1, want 0":    lookup.RaggedFrom(ids, []int{1, 2}),
		"offsets[0] is -1, want 0":   lookup.RaggedFrom(ids, []int{-1, 1}),
		"seq is 0, want at least 1":  lookup.Batch(ids, 0),
		"seq is -1, want at least 1": lookup.Batch(ids, -1),
		"dst.Rows is 2, want 1":      in,
	} {
		if err := bag.Forward(out, in); err == nil || err.Error() != "rowvec: lookup.Bag.Forward: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// limited are the first positions of a table that has more.
type limited struct{ lookup.Positions }

func (limited) Trainable() bool { return false }
func (limited) Limit() int      { return 3 }

// TestLimitWithinTable: a table may have rows of positions that there are not.
func TestLimitWithinTable(t *testing.T) {
	layer := must(lookup.NewLayer(must(lookup.NewEmbedding(5, 2)), limited{must(positional.NewLearned(6, 2, 1))}))
	in, out := lookup.Sequence([]int{1, 2, 3}), newMatrix(t, 3, 2)
	for _, in := range []lookup.Input{in, in.At([]int{2, 0, 2})} {
		if err := layer.Forward(out, in); err != nil {
			t.Error(err)
		}
	}
	for want, in := range map[string]lookup.Input{
		"rowvec: lookup.Layer.Forward: start is 1, want at most 0":                     in.From(1),
		"rowvec: lookup.Layer.Forward: position id 3 at position 1 is outside [0, 3)":  in.At([]int{2, 3, 0}),
		"rowvec: lookup.Layer.Forward: position id -1 at position 0 is outside [0, 3)": in.At([]int{-1, 3, 0}),
	} {
		if err := layer.Forward(out, in); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAddToIDs has a dense gradient in the memory of the ids.
func TestAddToIDs(t *testing.T) {
	g := must(lookup.NewGradient(2, 1))
	if err := g.SetDense(filled(2, 1)); err != nil {
		t.Fatal(err)
	}
	dense := rowvec.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: unsafe.Slice((*float32)(unsafe.Pointer(&g.IDs()[0])), 2)}
	err := g.AddTo(dense)
	if overlap := (*rowvec.OverlapError)(nil); !errors.As(err, &overlap) || overlap.Op != "lookup.Gradient.AddTo" {
		t.Error(err)
	}
}
