package main

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const memoryUsage = `Usage: go run ./bench memory [flags] [VOCABxDIM ...]

Says what embeddings weigh: tables of tokens as they are common, and any sizes given, such as
32000x4096; positions, learned or not; one-hot vectors against dense ones; the share that
embeddings have in models, and what halving the vocabulary or the dim saves; training, with
gradients of whole tables and of the rows of a batch; and what this machine could hold.

`

// Limits of sizes, far within which no product of theirs overflows.
const (
	mostVocab = math.MaxInt32
	mostDim   = 1 << 20
	mostCount = 1 << 24 // positions, tokens of a sentence, ids of a batch
)

func runMemory(args []string, stdout, stderr io.Writer) int {
	var s weighing
	flags := newFlags("bench memory", memoryUsage, stderr)
	flags.Int64Var(&s.positions, "positions", 2048, "so many `positions`")
	flags.Int64Var(&s.sentence, "sentence", 100, "a sentence of so many `tokens`")
	flags.Int64Var(&s.batch, "batch", 8192, "train on batches of so many `ids`")
	free := flags.Int64("free", 0, "take this many `MB` to be free, and not what the system says")
	asJSON := flags.Bool("json", false, "print JSON, in bytes")
	sizes, status, done := parseMixed(flags, args)
	if done {
		return status
	}
	for _, n := range []int64{s.positions, s.sentence, s.batch} {
		if n < 1 || n > mostCount {
			fmt.Fprintf(stderr, "bench: -positions, -sentence and -batch must be from 1 to %s\n", thousands(int64(mostCount)))
			return 2
		}
	}
	freeGiven := given(flags, "free")
	if freeGiven && (*free < 1 || *free > math.MaxInt64/mbBytes) {
		fmt.Fprintf(stderr, "bench: -free must be from 1 to %s MB\n", thousands(int64(math.MaxInt64/mbBytes)))
		return 2
	}
	for _, text := range sizes {
		vocab, dim, err := parseSize(text)
		if err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 2
		}
		if t := (tableWeight{Vocab: vocab, Dim: dim}); !slices.Contains(s.given, t) {
			s.given = append(s.given, t)
		}
	}
	s.ram, s.known = thisRAM()
	if freeGiven {
		s.ram, s.known = ram{Free: *free * mbBytes}, true
	}
	r := weigh(s)
	var err error
	if *asJSON {
		err = writeJSON(stdout, r)
	} else {
		_, err = io.WriteString(stdout, r.table())
	}
	return exit(err, stderr)
}

// size is VOCABxDIM. Commas may stand between thousands, and spaces around the x.
var size = regexp.MustCompile(`^([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+) *[xX×] *([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)$`)

func parseSize(text string) (vocab, dim int64, err error) {
	parts := size.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, fmt.Errorf("%q is no size of a table, as 50257x768 is: VOCABxDIM", text)
	}
	// With more digits than there can be, what comes back is more than there can be too.
	vocab, _ = strconv.ParseInt(strings.ReplaceAll(parts[1], ",", ""), 10, 64)
	dim, _ = strconv.ParseInt(strings.ReplaceAll(parts[2], ",", ""), 10, 64)
	switch {
	case vocab < 1 || vocab > mostVocab:
		return 0, 0, fmt.Errorf("%q: the vocabulary must be from 1 to %s", text, thousands(int64(mostVocab)))
	case dim < 1 || dim > mostDim:
		return 0, 0, fmt.Errorf("%q: the dim must be from 1 to %s", text, thousands(int64(mostDim)))
	}
	return vocab, dim, nil
}

const (
	floatBytes = 4
	mbBytes    = 1 << 20
	intBytes   = bits.UintSize / 8 // of an id in a lookup.Gradient

	largestDim = 768 // of the largest vocabulary that a machine could hold
)

// common are the tables that everybody asks about. BERT's paper has a vocabulary of 30,000, its files 30,522.
var common = []tableWeight{
	{Name: "small", Vocab: 10000, Dim: 256},
	{Name: "medium", Vocab: 50000, Dim: 512},
	{Name: "large", Vocab: 100000, Dim: 1024},
	{Name: "BERT base", Vocab: 30000, Dim: 768},
	{Name: "GPT-2 medium", Vocab: vocab, Dim: 1024},
	{Name: "GPT-3", Vocab: vocab, Dim: 12288},
}

// architecture is what the parameters of a transformer are counted from.
type architecture struct {
	name, published        string
	vocab, dim, layers     int64
	tables                 int64 // of tokens: two where the output has one of its own
	positions, segments    int64 // rows
	squares, lines         int64 // of a block: so many times dim*dim parameters, and so many times dim
	moreSquares, moreLines int64 // of all that is neither a block nor a table
}

// Blocks have four matrices of attention and two of a hidden layer four times as wide, and the biases and two
// normalisations of these. Llama 3 has keys and values a quarter as wide, three matrices 3.5 times as wide, no biases and
// normalisations without shift.
var architectures = []architecture{
	{"BERT base", "110M", 30522, 768, 12, 1, 512, 2, 12, 13, 1, 3},
	{"BERT large", "340M", 30522, 1024, 24, 1, 512, 2, 12, 13, 1, 3},
	{"GPT-2 small", "124M", vocab, 768, 12, 1, 1024, 0, 12, 13, 0, 2},
	{"GPT-2 medium", "355M", vocab, 1024, 24, 1, 1024, 0, 12, 13, 0, 2},
	{"GPT-2 large", "774M", vocab, 1280, 36, 1, 1024, 0, 12, 13, 0, 2},
	{"GPT-2 XL", "1,558M", vocab, 1600, 48, 1, 1024, 0, 12, 13, 0, 2},
	{"GPT-3", "175B", vocab, 12288, 96, 1, 2048, 0, 12, 13, 0, 2},
	{"Llama 3 8B", "8B", 128256, 4096, 32, 2, 0, 0, 13, 2, 0, 1},
}

// parameters counts them, as if the model had been made with another vocabulary or dim.
func (a architecture) parameters(vocab, dim int64) int64 {
	return (a.tables*vocab+a.positions+a.segments)*dim + a.layers*(a.squares*dim*dim+a.lines*dim) +
		a.moreSquares*dim*dim + a.moreLines*dim
}

// weighing is what flags choose, and what is known of the machine.
type weighing struct {
	positions, sentence, batch int64
	given                      []tableWeight
	ram                        ram
	known                      bool
}

// memoryReport is what the command says; all weights are bytes.
type memoryReport struct {
	Host           host             `json:"host"`
	ParameterBytes int64            `json:"parameter_bytes"`
	MBBytes        int64            `json:"mb_bytes"`
	Positions      int64            `json:"positions"`
	Sentence       int64            `json:"sentence_tokens"`
	Batch          int64            `json:"batch_ids"`
	Tables         []tableWeight    `json:"tables"`
	PositionTables []positionWeight `json:"position_tables"`
	Sentences      []sentenceWeight `json:"sentences"`
	Models         []modelWeight    `json:"models"`
	Machine        *machineRoom     `json:"machine,omitempty"` // where it is known
}

// tableWeight is a table of tokens.
type tableWeight struct {
	Name       string         `json:"name"`
	Vocab      int64          `json:"vocab"`
	Dim        int64          `json:"dim"`
	Parameters int64          `json:"parameters"`
	Bytes      int64          `json:"bytes"`
	HalfBytes  int64          `json:"half_bytes"` // what half the vocabulary or half the dim saves
	Training   trainingWeight `json:"training"`
	Fit        *room          `json:"fit,omitempty"` // so many of it at once
}

// trainingWeight is what training takes: with a gradient of the whole table, and with one of the rows of a batch.
type trainingWeight struct {
	DenseGradient  int64 `json:"dense_gradient_bytes"`
	Adam           int64 `json:"adam_state_bytes"`
	DenseAll       int64 `json:"dense_adam_bytes"`      // table, gradient and state
	DenseStep      int64 `json:"dense_adam_step_bytes"` // that a step reads and writes
	SparseRows     int64 `json:"sparse_rows"`           // of the gradient: as many as a batch has ids, or all
	SparseGradient int64 `json:"sparse_gradient_bytes"` // with an id for each row
	SparseAll      int64 `json:"sparse_adam_bytes"`
	SparseStep     int64 `json:"sparse_adam_step_bytes"`
	RowState       int64 `json:"row_adagrad_state_bytes"`
	RowAll         int64 `json:"sparse_row_adagrad_bytes"`
}

// positionWeight is a table of positions.
type positionWeight struct {
	Dim        int64 `json:"dim"`
	Parameters int64 `json:"learned_parameters"`
	Learned    int64 `json:"learned_bytes"`
	Sinusoidal int64 `json:"sinusoidal_bytes"`
	None       int64 `json:"none_bytes"`
}

// sentenceWeight is a sentence as vectors that have a one among zeros, and as rows of a table.
type sentenceWeight struct {
	Vocab  int64   `json:"vocab"`
	Dim    int64   `json:"dim"`
	OneHot int64   `json:"one_hot_bytes"`
	Dense  int64   `json:"dense_bytes"`
	Times  float64 `json:"one_hot_times_dense"`
	Table  int64   `json:"table_bytes"`
	PaysAt int64   `json:"table_pays_at"` // sentences held at once: dense ones and the table are no more than one-hot ones; 0: never
}

// modelWeight is the share that embeddings have in a model.
type modelWeight struct {
	Name           string  `json:"name"`
	Vocab          int64   `json:"vocab"`
	Dim            int64   `json:"dim"`
	Layers         int64   `json:"layers"`
	Tables         int64   `json:"tables"`
	Published      string  `json:"published_parameters"`
	Parameters     int64   `json:"parameters"` // counted
	Tokens         int64   `json:"token_parameters"`
	Positions      int64   `json:"position_parameters"`
	TokenShare     float64 `json:"token_share"`
	PositionShare  float64 `json:"position_share"`
	HalfVocabSaves float64 `json:"half_vocab_saves"` // of all parameters
	HalfDimSaves   float64 `json:"half_dim_saves"`
}

// machineRoom is what the machine could hold.
type machineRoom struct {
	ram
	Dim     int64 `json:"largest_dim"`
	Largest room  `json:"largest_vocab"`
}

// room is how many there is room for: tables, or rows of one.
type room struct {
	Lookup     int64 `json:"lookup"`
	DenseAdam  int64 `json:"dense_adam"`
	SparseAdam int64 `json:"sparse_adam"`
	RowAdagrad int64 `json:"sparse_row_adagrad"`
}

func weigh(s weighing) *memoryReport {
	r := &memoryReport{
		Host: thisHost(), ParameterBytes: floatBytes, MBBytes: mbBytes,
		Positions: s.positions, Sentence: s.sentence, Batch: s.batch,
		Sentences: []sentenceWeight{weighSentence(10000, 512, s.sentence)},
	}
	var dims []int64
	for i, t := range slices.Concat(common, s.given) {
		t = weighTable(t, s.batch)
		if s.known {
			t.Fit = t.fit(s.ram.Free)
		}
		r.Tables = append(r.Tables, t)
		if !slices.Contains(dims, t.Dim) {
			dims = append(dims, t.Dim)
		}
		if i >= len(common) {
			r.Sentences = append(r.Sentences, weighSentence(t.Vocab, t.Dim, s.sentence))
		}
	}
	slices.Sort(dims)
	for _, dim := range dims {
		n := s.positions * dim
		r.PositionTables = append(r.PositionTables, positionWeight{Dim: dim, Parameters: n, Learned: n * floatBytes})
	}
	for _, a := range architectures {
		r.Models = append(r.Models, weighModel(a))
	}
	if s.known {
		r.Machine = &machineRoom{s.ram, largestDim, largest(s.ram.Free, largestDim, s.batch)}
	}
	return r
}

func weighTable(t tableWeight, batch int64) tableWeight {
	t.Parameters = t.Vocab * t.Dim
	t.Bytes = t.Parameters * floatBytes
	t.HalfBytes = t.Bytes / 2
	if t.Name == "" {
		t.Name = thousands(t.Vocab) + " x " + thousands(t.Dim)
	}
	rows := min(batch, t.Vocab)
	x := trainingWeight{
		DenseGradient:  t.Bytes,
		Adam:           2 * t.Bytes,
		SparseRows:     rows,
		SparseGradient: rows * (intBytes + t.Dim*floatBytes),
		RowState:       t.Vocab * floatBytes,
	}
	// A step of Adam reads the gradient, and reads and writes the table and both states.
	x.DenseStep = 7 * t.Bytes
	x.SparseStep = x.SparseGradient + 6*rows*t.Dim*floatBytes
	x.DenseAll = t.Bytes + x.DenseGradient + x.Adam
	x.SparseAll = t.Bytes + x.SparseGradient + x.Adam
	x.RowAll = t.Bytes + x.SparseGradient + x.RowState
	t.Training = x
	return t
}

// fit says how many such tables there is room for.
func (t *tableWeight) fit(free int64) *room {
	return &room{free / t.Bytes, free / t.Training.DenseAll, free / t.Training.SparseAll, free / t.Training.RowAll}
}

// largest says how many rows a table may have.
func largest(free, dim, batch int64) room {
	row := dim * floatBytes
	// The gradient of a batch has as many rows as the batch has ids, unless the table has fewer.
	sparse := func(bytes int64) int64 {
		gradient := row + intBytes
		return max(min(batch, free/(bytes+gradient)), (free-batch*gradient)/bytes)
	}
	return room{free / row, free / (4 * row), sparse(3 * row), sparse(row + floatBytes)}
}

func weighSentence(vocab, dim, tokens int64) sentenceWeight {
	s := sentenceWeight{
		Vocab: vocab, Dim: dim, OneHot: tokens * vocab * floatBytes, Dense: tokens * dim * floatBytes,
		Times: float64(vocab) / float64(dim), Table: vocab * dim * floatBytes,
	}
	if saved := s.OneHot - s.Dense; saved > 0 {
		s.PaysAt = (s.Table-1)/saved + 1
	}
	return s
}

func weighModel(a architecture) modelWeight {
	all := a.parameters(a.vocab, a.dim)
	share := func(part int64) float64 { return float64(part) / float64(all) }
	m := modelWeight{
		Name: a.name, Vocab: a.vocab, Dim: a.dim, Layers: a.layers, Tables: a.tables, Published: a.published, Parameters: all,
		Tokens: a.tables * a.vocab * a.dim, Positions: a.positions * a.dim,
		HalfVocabSaves: share(all - a.parameters(a.vocab/2, a.dim)),
		HalfDimSaves:   share(all - a.parameters(a.vocab, a.dim/2)),
	}
	m.TokenShare, m.PositionShare = share(m.Tokens), share(m.Positions)
	return m
}

// mb writes 2470294487 bytes as 2,355.9, and what is too little for that as bytes.
func mb(bytes int64) string {
	switch {
	case bytes == 0:
		return "0"
	case bytes <= mbBytes/20:
		return thousands(bytes) + " B"
	}
	return tenths(float64(bytes) / mbBytes)
}

// tenths writes 97656.25 as 97,656.3.
func tenths(x float64) string {
	n := int64(math.Round(x * 10))
	return fmt.Sprintf("%s.%d", thousands(n/10), n%10)
}

// megabytes is mb with its unit.
func megabytes(bytes int64) string {
	if bytes <= mbBytes/20 {
		return thousands(bytes) + " B"
	}
	return mb(bytes) + " MB"
}

// table prints at most 90 columns, unless sizes are given that are out of all proportion.
func (r *memoryReport) table() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("%s\nA parameter is a float32 of %d bytes; 1 MB is 2^20 bytes.\n", r.Host, r.ParameterBytes)

	p("\nTables of tokens\n%-20s%12s%10s%17s%12s%12s\n", "", "vocab", "dim", "parameters", "MB", "half: MB")
	for _, t := range r.Tables {
		p("%-20s %11s %9s %16s %11s %11s\n", t.Name, thousands(t.Vocab), thousands(t.Dim), thousands(t.Parameters), mb(t.Bytes), mb(t.HalfBytes))
	}
	p("Half the vocabulary saves half of a table, and so does half the dim.\n")

	p("\nPositions: %s of them\n%10s%22s%16s%16s%16s\n", thousands(r.Positions),
		"dim", "learned: parameters", "MB", "sinusoidal: MB", "none: MB")
	for _, x := range r.PositionTables {
		p("%10s %21s %15s %15s %15s\n", thousands(x.Dim), thousands(x.Parameters), mb(x.Learned), mb(x.Sinusoidal), mb(x.None))
	}
	p(`Sinusoidal positions have no parameters, and positional.Sinusoidal works them out as it
goes; a table of them, where one is kept, has the size of a learned one. They have no end,
where learned ones end with their table.
`)

	p("\nA sentence of %s\n%-24s%12s%12s%12s%14s%16s\n", plural(r.Sentence, "token"),
		"vocab x dim", "one-hot: MB", "dense: MB", "times", "its table: MB", "pays at")
	for _, s := range r.Sentences {
		pays := "never"
		if s.PaysAt > 0 {
			pays = plural(s.PaysAt, "sentence")
		}
		p("%-23s %11s %11s %11s %13s %15s\n", thousands(s.Vocab)+" x "+thousands(s.Dim), mb(s.OneHot), mb(s.Dense), tenths(s.Times), mb(s.Table), pays)
	}
	p(`A one-hot vector has a column for each token of the vocabulary. The table that dense ones
are looked up in pays where all its sentences, held at once, outweigh it.
`)

	p("\nShares of models\n%-14s%17s%11s%17s%8s%7s%16s\n", "", "", "", "", "share", "of", "saved by half")
	p("%-14s%17s%11s%17s%8s%7s%8s%8s\n", "", "vocab x dim", "published", "counted", "tokens", "pos.", "vocab", "dim")
	for _, m := range r.Models {
		p("%-14s%17s%11s%17s%7.1f%%%6.1f%%%7.1f%%%7.1f%%\n", m.Name, thousands(m.Vocab)+" x "+thousands(m.Dim), m.Published,
			thousands(m.Parameters), 100*m.TokenShare, 100*m.PositionShare, 100*m.HalfVocabSaves, 100*m.HalfDimSaves)
	}
	p(`Half the dim is that of the whole model, whose blocks then have about a quarter. Llama 3
has a table of its own for its output, which counts as tokens too, and rotary positions.
Published: Devlin and others, 2018 (BERT); the README of github.com/openai/gpt-2, which
corrects the paper; Brown and others, 2020 (GPT-3); the model card of Llama 3, 2024.
Counted: from the vocabulary, the dim and the layers. BERT's paper has a vocabulary of
30,000, its files have 30,522.
`)

	p("\nTraining, batches of %s: MB\n", plural(r.Batch, "id"))
	p("%-20s%10s%20s%40s\n", "", "", "dense gradient", "gradient of the batch")
	p("%-20s%10s%11s%9s%10s%10s%11s%9s\n", "", "table", "with Adam", "a step", "gradient", "with Adam", "row-wise", "a step")
	for _, t := range r.Tables {
		x := t.Training
		p("%-20s %9s %10s %8s %9s %9s %10s %8s\n", t.Name, mb(t.Bytes), mb(x.DenseAll), mb(x.DenseStep),
			mb(x.SparseGradient), mb(x.SparseAll), mb(x.RowAll), mb(x.SparseStep))
	}
	p(`With Adam: the table, its gradient and two states of the table's size. Row-wise: the
table, its gradient and one sum for each row (lookup.RowAdagrad). A step: what one of Adam
reads and writes. A dense gradient has the size of the table; that of the batch
(lookup.Gradient) has at most a row for each id, and Optimizer.StepBatch does without.
`)

	if m := r.Machine; m == nil {
		p("\nHow much memory is free is not known here; -free MB says so.\n")
	} else {
		memory := fmt.Sprintf("has %s of memory, of which %s are free", megabytes(m.Total), megabytes(m.Free))
		if m.Total == 0 {
			memory = fmt.Sprintf("is taken to have %s free", megabytes(m.Free))
		}
		p("\nThis machine %s.\nRoom for so many at once of\n", memory)
		p("%-20s%14s%18s%18s%20s\n", "", "lookup alone", "dense, Adam", "batch, Adam", "batch, row-wise")
		line := func(name string, x room) {
			p("%-20s %13s %17s %17s %19s\n", name, thousands(x.Lookup), thousands(x.DenseAdam), thousands(x.SparseAdam), thousands(x.RowAdagrad))
		}
		for _, t := range r.Tables {
			line(t.Name, *t.Fit)
		}
		p("or for one table of dim %d with a vocabulary of at most\n", m.Dim)
		line("", m.Largest)
	}
	return b.String()
}
