package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// runJSON runs a command that prints JSON into what v points to.
func runJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(args, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("%v: exit status %d: %s", args, status, &errs)
	}
	in := json.NewDecoder(&out)
	in.DisallowUnknownFields()
	if err := in.Decode(v); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

func runText(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(args, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("%v: exit status %d: %s", args, status, &errs)
	}
	return out.String()
}

// TestMemoryFormulas holds every number to its formula.
func TestMemoryFormulas(t *testing.T) {
	var r memoryReport
	runJSON(t, &r, "memory", "-json", "-positions", "1000", "32000x4096", "-batch", "4096", "7X5", "-sentence", "20", "-free", "5000", "1,000×3")
	if r.ParameterBytes != 4 || r.MBBytes != 1048576 || r.Positions != 1000 || r.Sentence != 20 || r.Batch != 4096 || r.Host.CPU == "" {
		t.Errorf("%+v", r)
	}
	sizes := [][2]int64{{10000, 256}, {50000, 512}, {100000, 1024}, {30000, 768}, {50257, 1024}, {50257, 12288}, {32000, 4096}, {7, 5}, {1000, 3}}
	if len(r.Tables) != len(sizes) {
		t.Fatalf("%d tables", len(r.Tables))
	}
	const free int64 = 5000 << 20
	for i, x := range r.Tables {
		v, d := sizes[i][0], sizes[i][1]
		rows := min(4096, v)
		gradient := 4*rows*d + rows*strconv.IntSize/8
		want := tableWeight{
			Name: x.Name, Vocab: v, Dim: d, Parameters: v * d, Bytes: 4 * v * d, HalfBytes: 2 * v * d,
			Training: trainingWeight{
				DenseGradient: 4 * v * d, Adam: 8 * v * d, DenseAll: 16 * v * d, DenseStep: 28 * v * d,
				SparseRows: rows, SparseGradient: gradient, SparseAll: 12*v*d + gradient, SparseStep: 24*rows*d + gradient,
				RowState: 4 * v, RowAll: 4*v*d + 4*v + gradient,
			},
			Fit: x.Fit,
		}
		if x != want {
			t.Errorf("%+v, want %+v", x, want)
		}
		for _, fit := range [][2]int64{
			{x.Fit.Lookup, 4 * v * d}, {x.Fit.DenseAdam, 16 * v * d}, {x.Fit.SparseAdam, 12*v*d + gradient},
			{x.Fit.RowAdagrad, 4*v*d + 4*v + gradient},
		} {
			if fit[0]*fit[1] > free || (fit[0]+1)*fit[1] <= free {
				t.Errorf("%s: %d times %d bytes in %d", x.Name, fit[0], fit[1], free)
			}
		}
	}
	if names := []string{r.Tables[0].Name, r.Tables[6].Name, r.Tables[7].Name}; !slices.Equal(names, []string{"small", "32,000 x 4,096", "7 x 5"}) {
		t.Errorf("%q", names)
	}

	dims := []int64{3, 5, 256, 512, 768, 1024, 4096, 12288}
	if len(r.PositionTables) != len(dims) {
		t.Fatalf("%+v", r.PositionTables)
	}
	for i, x := range r.PositionTables {
		if want := (positionWeight{Dim: dims[i], Parameters: 1000 * dims[i], Learned: 4000 * dims[i]}); x != want {
			t.Errorf("%+v, want %+v", x, want)
		}
	}

	sizes = [][2]int64{{10000, 512}, {32000, 4096}, {7, 5}, {1000, 3}}
	if len(r.Sentences) != len(sizes) {
		t.Fatalf("%+v", r.Sentences)
	}
	for i, x := range r.Sentences {
		v, d := sizes[i][0], sizes[i][1]
		want := sentenceWeight{v, d, 20 * 4 * v, 20 * 4 * d, float64(v) / float64(d), 4 * v * d, x.PaysAt}
		if x != want || x.PaysAt*x.OneHot < x.PaysAt*x.Dense+x.Table || (x.PaysAt-1)*x.OneHot >= (x.PaysAt-1)*x.Dense+x.Table {
			t.Errorf("%+v, want %+v", x, want)
		}
	}

	for v, want := range map[int64]int64{40: 2, 20: 0, 10: 0, 400: 2} { // 40: exactly
		if got := weighSentence(v, 20, 20).PaysAt; got != want {
			t.Errorf("a table of %d x 20 pays at %d, want %d", v, got, want)
		}
	}

	// Parameters as they are in the files of these models; those of GPT-3, of which there are none, as its paper says.
	counts := map[string]int64{
		"BERT base": 109482240, "BERT large": 335141888, "GPT-2 small": 124439808, "GPT-2 medium": 354823168,
		"GPT-2 large": 774030080, "GPT-2 XL": 1557611200, "GPT-3": 174604259328, "Llama 3 8B": 8030261248,
	}
	published := map[string]float64{
		"BERT base": 110e6, "BERT large": 340e6, "GPT-2 small": 124e6, "GPT-2 medium": 355e6,
		"GPT-2 large": 774e6, "GPT-2 XL": 1558e6, "GPT-3": 175e9, "Llama 3 8B": 8e9,
	}
	if len(r.Models) != len(counts) {
		t.Fatalf("%+v", r.Models)
	}
	for _, x := range r.Models {
		if x.Parameters != counts[x.Name] || math.Abs(float64(x.Parameters)/published[x.Name]-1) > 0.015 {
			t.Errorf("%+v, want %d", x, counts[x.Name])
		}
		unit := 1e6
		figure, millions := strings.CutSuffix(x.Published, "M")
		if !millions {
			figure, unit = strings.TrimSuffix(x.Published, "B"), 1e9
		}
		if n, err := strconv.ParseFloat(strings.ReplaceAll(figure, ",", ""), 64); err != nil || n*unit != published[x.Name] {
			t.Errorf("%+v, want %g", x, published[x.Name])
		}
		all := float64(x.Parameters)
		positions := map[string]int64{"BERT": 512, "GPT-2": 1024, "GPT-3": 2048, "Llama": 0}[strings.Fields(x.Name)[0]]
		if x.Tokens != x.Tables*x.Vocab*x.Dim || x.Positions != positions*x.Dim ||
			x.TokenShare != float64(x.Tokens)/all || x.PositionShare != float64(x.Positions)/all ||
			x.HalfVocabSaves != float64(x.Tables*(x.Vocab-x.Vocab/2)*x.Dim)/all {
			t.Errorf("%+v", x)
		}
		// A dim appears in the first power or in the second: of what is in the first, half is saved, and of the rest 3/4.
		// Twelve squares in a block are all there are but for the one behind BERT, and Llama 3 has thirteen.
		squares := float64(x.Dim * x.Dim * map[string]int64{"BERT": 12*x.Layers + 1, "Llama": 13 * x.Layers}[strings.Fields(x.Name)[0]])
		if squares == 0 {
			squares = float64(x.Dim * x.Dim * 12 * x.Layers)
		}
		if want := 0.5 + 0.25*squares/all; math.Abs(x.HalfDimSaves-want) > 1e-12 {
			t.Errorf("%s: half the dim saves %v, want %v", x.Name, x.HalfDimSaves, want)
		}
	}

	m := r.Machine
	if m == nil || m.Free != free || m.Total != 0 || m.Dim != 768 {
		t.Fatalf("%+v", m)
	}
	need := func(v int64) [4]int64 {
		gradient := min(4096, v) * (4*768 + strconv.IntSize/8)
		return [4]int64{4 * 768 * v, 16 * 768 * v, 12*768*v + gradient, 4*768*v + 4*v + gradient}
	}
	for i, v := range []int64{m.Largest.Lookup, m.Largest.DenseAdam, m.Largest.SparseAdam, m.Largest.RowAdagrad} {
		if need(v)[i] > free || need(v + 1)[i] <= free {
			t.Errorf("%d rows for %d: %d bytes, and one more %d", v, i, need(v)[i], need(v + 1)[i])
		}
	}
}

// TestLargest: however little memory there is, the largest table fits and the next does not.
func TestLargest(t *testing.T) {
	const dim, batch = 3, 4
	for free := range int64(1000) {
		need := func(v int64) [4]int64 {
			gradient := min(batch, v) * (4*dim + strconv.IntSize/8)
			return [4]int64{4 * dim * v, 16 * dim * v, 12*dim*v + gradient, 4*dim*v + 4*v + gradient}
		}
		x := largest(free, dim, batch)
		for i, v := range []int64{x.Lookup, x.DenseAdam, x.SparseAdam, x.RowAdagrad} {
			if need(v)[i] > free || need(v + 1)[i] <= free {
				t.Errorf("%d bytes: %+v", free, x)
			}
		}
	}
}

// TestMemoryOfLibrary: what is counted is what tables, gradients and optimizers do have.
func TestMemoryOfLibrary(t *testing.T) {
	const rows, cols, positions = 500, 24, 70
	ids := make([]int, 64)
	for i := range ids {
		ids[i] = i * 7
	}
	x := weighTable(tableWeight{Vocab: rows, Dim: cols}, int64(len(ids)))
	e := must1(lookup.NewEmbedding(rows, cols))
	g := e.NewGradient()
	must(e.BackwardSparse(g, lookup.Sequence(ids), must1(rowvec.NewMatrix(len(ids), cols))))
	state := func(m lookup.Method) (n int64) {
		for _, p := range must1(e.NewOptimizer(m)).State() {
			n += 4 * int64(len(p.Value.Data))
		}
		return n
	}
	size := int64(4 * len(e.Weight().Data))
	gradient := int64(4*len(g.Values().Data) + len(g.IDs())*strconv.IntSize/8)
	for name, c := range map[string][2]int64{
		"table":               {x.Bytes, size},
		"gradient":            {x.Training.SparseGradient, gradient},
		"rows":                {x.Training.SparseRows, int64(g.Len())},
		"state of Adam":       {x.Training.Adam, state(lookup.Adam{})},
		"state of RowAdagrad": {x.Training.RowState, state(lookup.RowAdagrad{})},
		"all, Adam":           {x.Training.SparseAll, size + gradient + state(lookup.Adam{})},
		"all, RowAdagrad":     {x.Training.RowAll, size + gradient + state(lookup.RowAdagrad{})},
		"learned positions": {
			weigh(weighing{positions: positions, sentence: 1, batch: 1, given: []tableWeight{{Vocab: 1, Dim: cols}}}).PositionTables[0].Learned,
			int64(4 * len(must1(positional.NewLearned(positions, cols, 1)).Table().Data)),
		},
		"sinusoidal positions": {0, int64(4 * len(must1(positional.NewSinusoidal(0, cols)).Table().Data))},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d bytes counted, %d there", name, c[0], c[1])
		}
	}
}

// TestMemoryText reads the numbers back from what is printed.
func TestMemoryText(t *testing.T) {
	out := runText(t, "memory", "-free", "1000", "40x30")
	for _, want := range []string{
		"1 MB is 2^20 bytes",
		"small 10,000 256 2,560,000 9.8 4.9\n",
		"medium 50,000 512 25,600,000 97.7 48.8\n",
		"large 100,000 1,024 102,400,000 390.6 195.3\n",
		"BERT base 30,000 768 23,040,000 87.9 43.9\n",
		"GPT-2 medium 50,257 1,024 51,463,168 196.3 98.2\n",
		"GPT-3 50,257 12,288 617,558,016 2,355.8 1,177.9\n",
		"40 x 30 40 30 1,200 4,800 B 2,400 B\n",
		"Positions: 2,048 of them",
		" 512 1,048,576 4.0 0 0\n",
		" 12,288 25,165,824 96.0 0 0\n",
		"A sentence of 100 tokens",
		"10,000 x 512 3.8 0.2 19.5 19.5 6 sentences\n",
		"40 x 30 16,000 B 12,000 B 1.3 4,800 B 2 sentences\n",
		"GPT-2 small 50,257 x 768 124M 124,439,808 31.0% 0.6% 15.5% 67.1%\n",
		"Llama 3 8B 128,256 x 4,096 8B 8,030,261,248 13.1% 0.0% 6.5% 71.7%\n",
		"batches of 8,192 ids",
		"This machine is taken to have 1,000.0 MB free.\n",
		"or for one table of dim 768",
	} {
		if !strings.Contains(squeeze(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	columns(t, out)

	// The same numbers as JSON has.
	var r memoryReport
	runJSON(t, &r, "memory", "-free", "1000", "40x30", "-json")
	inMB := func(n int64) string {
		if n <= 52428 {
			return thousands(n) + " B"
		}
		text := new(big.Rat).SetFrac64(n, 1<<20).FloatString(1)
		whole, tenth, _ := strings.Cut(text, ".")
		n, _ = strconv.ParseInt(whole, 10, 64)
		return thousands(n) + "." + tenth
	}
	for _, x := range r.Tables {
		y := x.Training
		for _, want := range []string{
			fmt.Sprintln(x.Name, inMB(x.Bytes), inMB(y.DenseAll), inMB(y.DenseStep), inMB(y.SparseGradient), inMB(y.SparseAll),
				inMB(y.RowAll), inMB(y.SparseStep)),
			fmt.Sprintln(x.Name, thousands(x.Fit.Lookup), thousands(x.Fit.DenseAdam), thousands(x.Fit.SparseAdam), thousands(x.Fit.RowAdagrad)),
		} {
			if !strings.Contains(squeeze(out), want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	x := r.Machine.Largest
	if want := fmt.Sprintln("", thousands(x.Lookup), thousands(x.DenseAdam), thousands(x.SparseAdam), thousands(x.RowAdagrad)); !strings.Contains(squeeze(out), want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

func TestMegabytes(t *testing.T) {
	for bytes, want := range map[int64][2]string{
		0: {"0", "0 B"}, 52428: {"52,428 B", "52,428 B"}, 52429: {"0.1", "0.1 MB"}, 1 << 20: {"1.0", "1.0 MB"},
		1<<30 - 1<<15: {"1,024.0", "1,024.0 MB"}, 2470294487: {"2,355.9", "2,355.9 MB"}, 1 << 60: {"1,099,511,627,776.0", "1,099,511,627,776.0 MB"},
	} {
		if got := [2]string{mb(bytes), megabytes(bytes)}; got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}

// TestMemoryOfMachine: with and without knowing what is free.
func TestMemoryOfMachine(t *testing.T) {
	s := weighing{positions: 1, sentence: 1, batch: 1, ram: ram{Total: 8 << 30, Free: 6 << 30}, known: true}
	for want, s := range map[string]weighing{
		"This machine has 8,192.0 MB of memory, of which 6,144.0 MB are free.\n": s,
		"-free MB says so": {positions: 1, sentence: 1, batch: 1},
	} {
		r := weigh(s)
		if text := r.table(); !strings.Contains(text, want) || (r.Machine != nil) != s.known || (r.Tables[0].Fit != nil) != s.known {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var r memoryReport
	runJSON(t, &r, "memory", "-json")
	if machine, known := thisRAM(); known && (r.Machine == nil || r.Machine.Total != machine.Total || r.Machine.Free <= 0) {
		t.Errorf("%+v, want about %+v", r.Machine, machine)
	}
}

func TestMemoryFlags(t *testing.T) {
	for _, x := range []struct {
		args string
		want string
	}{
		{"0x5", `"0x5": the vocabulary must be from 1 to 2,147,483,647`},
		{"5x0", `"5x0": the dim must be from 1 to 1,048,576`},
		{"5x", `"5x" is no size of a table, as 50257x768 is: VOCABxDIM`},
		{"x5", `"x5" is no size`},
		{"5", `"5" is no size`},
		{"5x5x5", `"5x5x5" is no size`},
		{"5x5.5", `"5x5.5" is no size`},
		{"1e3x5", `"1e3x5" is no size`},
		{"1,00x5", `"1,00x5" is no size`},
		{"+5x5", `"+5x5" is no size`},
		{"5x-5", `"5x-5" is no size`},
		{"small", `"small" is no size`},
		{"2147483648x1", "the vocabulary must be"},
		{"99999999999999999999x1", "the vocabulary must be"},
		{"1x1048577", "the dim must be"},
		{"1x99999999999999999999", "the dim must be"},
		{"-5x5", "-5x5"},
		{"10x10 5x -json", `"5x" is no size`},
		{"-positions 0", "-positions, -sentence and -batch must be from 1 to 16,777,216"},
		{"-sentence 16777217", "-sentence"},
		{"-batch -1", "-batch"},
		{"-free -1", "-free must be from 1 to 8,796,093,022,207 MB"},
		{"-free 0", "-free must be"},
		{"-free 9223372036854775807", "-free must be"},
		{"-free x", "-free"},
		{"-rounds 3", "-rounds"},
	} {
		var out, errs bytes.Buffer
		if status := run(append([]string{"memory"}, strings.Fields(x.args)...), &out, &errs); status != 2 || out.Len() > 0 || !strings.Contains(errs.String(), x.want) {
			t.Errorf("%s: exit status %d, %q, %q; want %q", x.args, status, &out, &errs, x.want)
		}
	}
	// The largest there are: nothing overflows.
	var r memoryReport
	runJSON(t, &r, "memory", "-json", "2147483647x1048576", "-positions", "16777216", "-sentence", "16777216", "-batch", "16777216", "-free", "8796093022207")
	x := r.Tables[len(r.Tables)-1]
	if p := new(big.Int).Mul(big.NewInt(2147483647), big.NewInt(1048576)); x.Parameters != p.Int64() || x.Training.DenseStep != 28*x.Parameters ||
		x.Training.SparseStep <= 0 || x.Fit.Lookup < 1 || r.Sentences[1].OneHot != 4*16777216*2147483647 || r.Machine.Largest.SparseAdam < 1 {
		t.Errorf("%+v, %+v, %+v", x, r.Sentences, r.Machine)
	}
	// As large as they are, figures do not run together; spaces may stand around the x; and what is given twice is listed once.
	wide := runText(t, "memory", "-free", "1000", "10000000 x 1024", "10,000,000x1024", "1000000x12288")
	for _, want := range []string{
		"10,000,000 x 1,024    39,062.5  156,250.0 273,437.5      32.1 117,219.6   39,132.7    224.1\n",
		"1,000,000 x 12,288    46,875.0  187,500.0 328,125.0     384.1 141,009.1   47,262.9  2,688.1\n",
		"10,000,000 x 1,024          3,814.7         0.4     9,765.6      39,062.5    11 sentences\n1,000,000 x 12,288",
	} {
		if n := strings.Count(wide, want); n != 1 {
			t.Errorf("%d times %q in\n%s", n, want, wide)
		}
	}
	for _, x := range [][]string{{"-h"}, {"memory", "-h"}} {
		var out, errs bytes.Buffer
		if status := run(x, &out, &errs); status != 0 || !strings.Contains(errs.String(), "bench memory [flags] [VOCABxDIM ...]") {
			t.Errorf("%v: exit status %d, %q", x, status, &errs)
		}
	}
}

// squeeze has one space where there are several.
func squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := ""
		if strings.HasPrefix(line, " ") {
			indent = " "
		}
		fmt.Fprintf(&b, "%s%s\n", indent, strings.Join(strings.Fields(line), " "))
	}
	return b.String()
}

// columns holds a report to 90 columns, but for the line of the machine.
func columns(t *testing.T, text string) {
	t.Helper()
	cpu := thisHost().CPU
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 90 && !strings.HasPrefix(line, cpu) {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
