package lookup_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/replace"
	"github.com/rowvec/rowvec/internal/safetensors"
	"github.com/rowvec/rowvec/lookup"
)

// bitsOf returns a rows x cols matrix whose elements have any bits, those of signalling NaNs, -0 and subnormals among
// them, and gap elements of -1 between its rows.
func bitsOf(seed uint64, rows, cols, gap int) rowvec.Matrix {
	m := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + gap}
	if rows == 0 || cols == 0 {
		return m
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	special := []uint32{0x7f800001, 0xffc12345, 0x80000000, 1, 0x807fffff, 0x7f800000, 0xff800000, 0}
	m.Data = slices.Repeat([]float32{-1}, (rows-1)*m.Stride+cols)
	for i := range rows {
		for j := range m.Row(i) {
			bits := rng.Uint32()
			if bits%4 == 0 {
				bits = special[rng.IntN(len(special))]
			}
			m.Row(i)[j] = math.Float32frombits(bits)
		}
	}
	return m
}

// cleared returns a copy of the tensors, with their gaps, and with zeros in all rows.
func cleared(tensors []lookup.Parameter) []lookup.Parameter {
	tensors = slices.Clone(tensors)
	for k := range tensors {
		m := &tensors[k].Value
		m.Data = slices.Clone(m.Data)
		if m.Cols > 0 {
			for i := range m.Rows {
				clear(m.Row(i))
			}
		}
	}
	return tensors
}

// sameBits reports whether all memory of the tensors, gaps too, has the same bits.
func sameBits(a, b []lookup.Parameter) bool {
	return slices.EqualFunc(a, b, func(a, b lookup.Parameter) bool {
		return slices.EqualFunc(a.Value.Data, b.Value.Data, func(x, y float32) bool {
			return math.Float32bits(x) == math.Float32bits(y)
		})
	})
}

func save(t testing.TB, tensors []lookup.Parameter, metadata map[string]string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.safetensors")
	if err := lookup.Save(path, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t testing.TB, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckpoint(t *testing.T) {
	for _, tensors := range [][]lookup.Parameter{
		nil,
		{{Name: "a", Value: bitsOf(1, 1, 1, 0)}},
		{{Name: "b", Value: bitsOf(1, 3, 5, 2)}, {Name: "a", Value: bitsOf(2, 7, 1, 0)}, {Name: "", Value: bitsOf(3, 1, 9, 4)}},
		{{Name: "none", Value: bitsOf(1, 0, 5, 0)}, {Name: "thin", Value: bitsOf(1, 4, 0, 1)}, {Name: "é\n", Value: bitsOf(2, 2, 2, 1)}},
		{{Name: "endless", Value: rowvec.Matrix{Rows: math.MaxInt}}, {Name: "x", Value: bitsOf(5, 2, 2, 0)}},
		// Longer than a piece: of many rows that do not divide it, and of a row that is longer still.
		{{Name: "rows", Value: bitsOf(1, 1001, 131, 3)}, {Name: "row", Value: bitsOf(2, 2, 150_001, 1)}, {Name: "z", Value: bitsOf(3, 1, 3, 0)}},
		{{Name: "exactly", Value: bitsOf(1, 64, 1024, 0)}, {Name: "twice", Value: bitsOf(2, 128, 1024, 1)}},
	} {
		for _, metadata := range []map[string]string{nil, {"step": "12345", "format": "pt", "é\"": "\x00\u2028"}} {
			path := save(t, tensors, metadata)
			got := cleared(tensors)
			slices.Reverse(got) // tensors are found by their names
			read, err := lookup.Load(path, got)
			slices.Reverse(got)
			if err != nil || !sameBits(got, tensors) || !maps.Equal(read, metadata) {
				t.Errorf("%d tensors: metadata %v, error %v, same bits %v", len(tensors), read, err, sameBits(got, tensors))
			}
		}
	}
}

// TestCheckpointOfLayer: the table of a layer comes back.
func TestCheckpointOfLayer(t *testing.T) {
	layer := layers(t, 9, 1)["learned"]
	path := save(t, layer.Parameters(), nil)
	other := layers(t, 9, 1)["learned"]
	for _, p := range other.Parameters() {
		fill(p.Value, 77)
	}
	if _, err := lookup.Load(path, other.Parameters()); err != nil || !sameBits(other.Parameters(), layer.Parameters()) {
		t.Errorf("error %v", err)
	}
}

// TestVectors: what has one dimension in PyTorch has one in the file, and comes back.
func TestVectors(t *testing.T) {
	layer := must(lookup.NewLayer(must(lookup.NewEmbedding(5, 3)), nil, lookup.LayerNorm(1e-5)))
	tensors := append(layer.Parameters(), lookup.Parameter{Name: "none", Value: newMatrix(t, 1, 0), Vector: true})
	want := "token.weight [5 3], norm.weight [3], norm.bias [3], none [0], "
	state := func(m lookup.Method, shapes string) {
		for _, o := range must(layer.NewOptimizers(m)) {
			tensors = append(tensors, o.State()...)
		}
		want += shapes
	}
	state(lookup.Adam{}, "token.weight.exp_avg [5 3], token.weight.exp_avg_sq [5 3], norm.weight.exp_avg [3], "+
		"norm.weight.exp_avg_sq [3], norm.bias.exp_avg [3], norm.bias.exp_avg_sq [3], ")
	state(lookup.RowAdagrad{}, "token.weight.sum [5], norm.weight.sum [1], norm.bias.sum [1], ")
	for i, p := range tensors {
		fill(p.Value, uint64(i))
	}
	path := save(t, tensors, nil)
	content := must(os.ReadFile(path))
	got := ""
	for _, x := range must(safetensors.Read(bytes.NewReader(content), int64(len(content)))).Tensors {
		got += fmt.Sprintf("%s %v, ", x.Name, x.Shape)
	}
	if got != want {
		t.Errorf("the file has %s\nwant         %s", got, want)
	}
	read := cleared(tensors)
	if _, err := lookup.Load(path, read); err != nil || !sameBits(read, tensors) {
		t.Errorf("error %v", err)
	}
}

// golden is a file written by hand from the description of the format, its checksum computed bit by bit.
const golden = "\xb0\x00\x00\x00\x00\x00\x00\x00" +
	`{"__metadata__":{"rowvec.crc32c":"b3acb928","step":"7"},` +
	`"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},` +
	`"b":{"dtype":"F32","shape":[1,1],"data_offsets":[16,20]}}` + "       " +
	"\x00\x00\x80\x3f" + "\x00\x00\x00\x80" + "\x01\x00\x80\xff" + "\x00\x00\x00\xc0" + "\x01\x00\x00\x00"

// goldenTensors is what the file holds: 1, -0, a signalling NaN, -2; the least number above 0.
func goldenTensors() []lookup.Parameter {
	w := []float32{1, float32(math.Copysign(0, -1)), math.Float32frombits(0xff800001), -2}
	return []lookup.Parameter{
		{Name: "w", Value: rowvec.Matrix{Rows: 2, Cols: 2, Data: w, Stride: 2}},
		{Name: "b", Value: rowvec.Matrix{Rows: 1, Cols: 1, Data: []float32{math.SmallestNonzeroFloat32}, Stride: 1}},
	}
}

func TestGolden(t *testing.T) {
	path := save(t, goldenTensors(), map[string]string{"step": "7"})
	if got, err := os.ReadFile(path); err != nil || string(got) != golden {
		t.Errorf("%v\n%q, want\n%q", err, got, golden)
	}
	got := cleared(goldenTensors())
	metadata, err := lookup.Load(write(t, []byte(golden)), got)
	if err != nil || !sameBits(got, goldenTensors()) || !maps.Equal(metadata, map[string]string{"step": "7"}) {
		t.Errorf("%v, metadata %v, error %v", got, metadata, err)
	}
}

// foreign returns a file without a checksum, as others write it, of a header and data of n floats 1, 2, 3, ...
func foreign(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i+1)))
	}
	return b
}

// TestForeign loads files without a checksum, and tensors with fewer than two dimensions, or with more, of which the first are 1.
func TestForeign(t *testing.T) {
	testForeign(t, "[]", "[3]", [][3]int{{3, 1, 1}, {3, 1, 2}, {1, 3, 3}})
	testForeign(t, "[1,1,1]", "[1,1,3]", [][3]int{{1, 3, 3}})
	testForeign(t, "[1]", "[1,1,3,1]", [][3]int{{3, 1, 1}, {3, 1, 2}})
}

func testForeign(t *testing.T, ofStep, ofA string, shapes [][3]int) {
	file := foreign(fmt.Sprintf(`{"step":{"dtype":"F32","shape":%s,"data_offsets":[12,16]},`+
		`"a":{"dtype":"F32","shape":%s,"data_offsets":[0,12]}}`, ofStep, ofA), 4)
	for _, shape := range shapes {
		a := bitsOf(1, shape[0], shape[1], shape[2]-shape[1])
		step := bitsOf(1, 1, 1, 0)
		metadata, err := lookup.Load(write(t, file), []lookup.Parameter{{Name: "a", Value: a}, {Name: "step", Value: step}})
		var got []float32
		for i := range a.Rows {
			got = append(got, a.Row(i)...)
		}
		if err != nil || len(metadata) != 0 || !slices.Equal(got, []float32{1, 2, 3}) || step.Data[0] != 4 {
			t.Errorf("%s as %v: %v %v, metadata %v, error %v", ofA, shape, a.Data, step.Data, metadata, err)
		}
	}
}

func TestLoadMisuse(t *testing.T) {
	a := `"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}`
	two := `{` + a + `,"b":{"dtype":"F32","shape":[1,1],"data_offsets":[24,28]}}`
	matrix := func(rows, cols int) rowvec.Matrix { return bitsOf(1, rows, cols, 1) }
	parameters := func(p ...lookup.Parameter) []lookup.Parameter { return p }
	for _, c := range []struct {
		file    []byte
		tensors []lookup.Parameter
		want    string
	}{
		{foreign(two, 7), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}), `it holds tensor "b" that is not asked for: see LoadSome`},
		{foreign(two, 7), nil, `it holds tensor "a" that is not asked for: see LoadSome`},
		{foreign(`{`+a+`}`, 6), parameters(lookup.Parameter{Name: "b", Value: matrix(1, 1)}, lookup.Parameter{Name: "a", Value: matrix(2, 3)}),
			`it holds no tensor "b"`},
		{foreign(`{`+a+`}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(3, 2)}), `tensor "a" has shape [2, 3] and not [3, 2]`},
		{foreign(`{"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}),
			`tensor "a" has shape [6] and not [2, 3]`},
		{foreign(`{"a":{"dtype":"F32","shape":[2,1,3],"data_offsets":[0,24]}}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}),
			`tensor "a" has shape [2, 1, 3] and not [2, 3]`},
		{foreign(`{"a":{"dtype":"F32","shape":[1,2,3,1],"data_offsets":[0,24]}}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}),
			`tensor "a" has shape [1, 2, 3, 1] and not [2, 3]`},
		{foreign(`{"a":{"dtype":"F32","shape":[1,1,6],"data_offsets":[0,24]}}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(6, 1)}),
			`tensor "a" has shape [1, 1, 6] and not [6, 1]`},
		{foreign(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 1), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}),
			`tensor "a" has shape [] and not [2, 3]`},
		{foreign(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 1), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 1)}),
			`tensor "a" has shape [] and not [2, 1]`},
		{foreign(`{"a":{"dtype":"I16","shape":[2,6],"data_offsets":[0,24]}}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 6)}),
			`tensor "a" has dtype I16 and not F32, BF16 or F16`},
		{foreign(two, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}, lookup.Parameter{Name: "b", Value: matrix(1, 1)}),
			"the data have 24 bytes where the header says 28: the file is cut off"},
		{foreign(`{"__metadata__":{"rowvec.crc32c":"0000000"},`+a+`}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}),
			`the checksum of the data is not eight hexadecimal digits: "0000000"`},
		{foreign(`{"__metadata__":{"rowvec.crc32c":"00000000"},`+a+`}`, 6), parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3)}),
			"the data or the metadata are damaged: their checksum is "},
		{[]byte("no such thing as a checkpoint"), nil, "the length of the header is"},
		{nil, nil, "0 bytes are too short for a safetensors file"},
	} {
		path := write(t, c.file)
		before := cleared(c.tensors)
		for k := range before {
			copy(before[k].Value.Data, c.tensors[k].Value.Data)
		}
		_, err := lookup.Load(path, c.tensors)
		var format *lookup.FormatError
		if !errors.As(err, &format) || format.Path != path || !strings.HasPrefix(err.Error(), "rowvec: "+path+": "+c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if !sameBits(c.tensors, before) {
			t.Errorf("%v: memory has changed", err)
		}
	}

	dir := t.TempDir()
	file := save(t, nil, nil)
	m := matrix(4, 3)
	low, high := m, m
	low.Rows, high.Rows, high.Data = 2, 3, m.Data[m.Stride:]
	short := rowvec.Matrix{Rows: 2, Cols: 3, Stride: 3, Data: make([]float32, 5)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(lookup.Load(file, parameters(lookup.Parameter{Name: "a", Value: m}, lookup.Parameter{Name: "a"}))), "rowvec: " + file + `: two tensors are called "a"`},
		{second(lookup.Load(file, parameters(lookup.Parameter{Name: "a", Value: short}))), "rowvec: lookup.Load: len(a.Data) is 5, want at least 6"},
		{second(lookup.Load(file, parameters(lookup.Parameter{Name: "low", Value: low}, lookup.Parameter{Name: "high", Value: high}))),
			"rowvec: lookup.Load: high overlaps low"},
		{second(lookup.Load(dir, nil)), "rowvec: lookup.Load: "},
		{lookup.Save(dir, nil, nil), "rowvec: lookup.Save: "},
		{lookup.Save(file, parameters(lookup.Parameter{Name: "a"}, lookup.Parameter{Name: "a"}), nil), "rowvec: " + file + `: cannot be saved: two tensors are called "a"`},
		{lookup.Save(file, parameters(lookup.Parameter{Name: "__metadata__"}), nil), "rowvec: " + file + `: cannot be saved: no tensor can be called "__metadata__"`},
		{lookup.Save(file, parameters(lookup.Parameter{Name: "a", Value: short}), nil), "rowvec: lookup.Save: len(a.Data) is 5, want at least 6"},
		{lookup.Save(file, parameters(lookup.Parameter{Name: "a", Value: matrix(2, 3), Vector: true}), nil), "rowvec: lookup.Save: rows of vector a is 2, want 1"},
		{lookup.Save(file, nil, map[string]string{lookup.ChecksumKey: ""}), "rowvec: " + file + `: cannot be saved: the key "rowvec.crc32c" of the metadata belongs to Save`},
		{lookup.Save(file, nil, map[string]string{"rowvec.crc64c": ""}), "rowvec: " + file + `: cannot be saved: the key "rowvec.crc64c" of the metadata belongs to Save`},
		{lookup.Save(file, nil, map[string]string{"a": "\xff"}), "rowvec: " + file + `: cannot be saved: the metadata "a" are not valid UTF-8`},
	} {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), c.want) {
			t.Errorf("error %v, want %s", c.err, c.want)
		}
	}
	missing := filepath.Join(dir, "none", "x")
	if _, err := lookup.Load(missing, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v", err)
	}
	if err := lookup.Save(missing, nil, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v", err)
	}
}

// TestDamage cuts a file off at every byte, makes it longer, and turns every one of its bits: each must be an error that
// leaves the tensors alone, but for bits in the metadata, which stand for nothing but themselves.
func TestDamage(t *testing.T) {
	load := func(what string, file []byte) (loaded bool) {
		t.Helper()
		got := cleared(goldenTensors())
		_, err := lookup.Load(write(t, file), got)
		want, format := goldenTensors(), (*lookup.FormatError)(nil)
		if err != nil {
			want = cleared(want)
			if !errors.As(err, &format) {
				t.Errorf("%s: error %v", what, err)
			}
		}
		if !sameBits(got, want) {
			t.Errorf("%s: error %v, and tensors %v", what, err, got)
		}
		return err == nil
	}
	for n := range len(golden) {
		if load(fmt.Sprintf("the first %d bytes", n), []byte(golden[:n])) {
			t.Errorf("the first %d bytes are taken for a file", n)
		}
	}
	if load("a byte more", append([]byte(golden), 0)) {
		t.Error("a file with a byte too many is taken for one")
	}
	for bit := range len(golden) * 8 {
		file := []byte(golden)
		file[bit/8] ^= 1 << (bit % 8)
		if load(fmt.Sprintf("bit %d of byte %d", bit%8, bit/8), file) {
			t.Errorf("bit %d of byte %d (%q) makes no difference", bit%8, bit/8, golden[bit/8])
		}
	}
	const key = lookup.ChecksumKey
	end := 8 + int(golden[0])
	for first := range key {
		for _, damage := range []string{"x", "xxx", "xxxx"} {
			for n := range min(len(key)-first, 4) + 1 {
				header := strings.TrimRight(golden[8:end], " ")
				header = strings.Replace(header, key, key[:first]+damage+key[first+n:], 1)
				header += strings.Repeat(" ", -len(header)&7)
				if what := header[:40]; load(what, slices.Concat([]byte{byte(len(header))}, []byte(golden[1:8]+header+golden[end:]))) {
					t.Errorf("%s makes no difference", what)
				}
			}
		}
	}
}

// failing is a disk that has room for some bytes.
type failing struct {
	replace.Temporary
	room *int
	at   string // what fails besides
}

var errFull = errors.New("no space left")

func (f failing) Write(b []byte) (int, error) {
	if *f.room -= len(b); *f.room < 0 {
		n, _ := f.Temporary.Write(b[:max(0, len(b)+*f.room)])
		return n, errFull
	}
	return f.Temporary.Write(b)
}

func (f failing) WriteAt(b []byte, at int64) (int, error) {
	if f.at == "header" {
		return 0, errFull
	}
	return f.Temporary.WriteAt(b, at)
}

// TestInterruptedSave has a disk run full at different places: the file that was there is still there, and no other.
func TestInterruptedSave(t *testing.T) {
	old := []lookup.Parameter{{Name: "a", Value: bitsOf(1, 300, 400, 0)}}
	path := save(t, old, map[string]string{"step": "1"})
	create := replace.Create
	defer func() { replace.Create = create }()
	for _, c := range []failing{{room: ptr(0)}, {room: ptr(50)}, {room: ptr(1000)}, {room: ptr(300_000)}, {room: ptr(1 << 30), at: "header"}} {
		replace.Create = func(name string, mode fs.FileMode) (replace.Temporary, error) {
			f, err := create(name, mode)
			return failing{f, c.room, c.at}, err
		}
		later := []lookup.Parameter{{Name: "a", Value: bitsOf(2, 300, 400, 0)}}
		if err := lookup.Save(path, later, map[string]string{"step": "2"}); !errors.Is(err, errFull) {
			t.Errorf("error %v", err)
		}
		got := cleared(old)
		metadata, err := lookup.Load(path, got)
		if err != nil || !sameBits(got, old) || metadata["step"] != "1" {
			t.Errorf("metadata %v, error %v", metadata, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
			t.Errorf("the directory holds %v, %v", entries, err)
		}
	}
}

func ptr(n int) *int { return &n }

// crashing ends the process in the middle of a file.
type crashing struct{ replace.Temporary }

func (f crashing) WriteAt([]byte, int64) (int, error) {
	os.Exit(42)
	return 0, nil
}

// TestCrash has another process die while it saves.
func TestCrash(t *testing.T) {
	const variable = "ROWVEC_TEST_CRASH"
	old := []lookup.Parameter{{Name: "a", Value: bitsOf(1, 30, 40, 0)}}
	if path := os.Getenv(variable); path != "" {
		create := replace.Create
		replace.Create = func(name string, mode fs.FileMode) (replace.Temporary, error) {
			f, err := create(name, mode)
			return crashing{f}, err
		}
		err := lookup.Save(path, []lookup.Parameter{{Name: "a", Value: bitsOf(2, 30, 40, 0)}}, nil)
		t.Fatal("still there: ", err)
	}
	path := save(t, old, nil)
	program, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(program, "-test.run=^TestCrash$")
	cmd.Env = append(os.Environ(), variable+"="+path)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 42 {
		t.Skipf("cannot run this program again: %v\n%s", err, out) // as under an emulator
	}
	got := cleared(old)
	if _, err := lookup.Load(path, got); err != nil || !sameBits(got, old) {
		t.Errorf("error %v", err)
	}
}

// TestChecksum computes it anew from the file, and has Load refuse metadata of which a digit has changed.
func TestChecksum(t *testing.T) {
	tensors := []lookup.Parameter{{Name: "a", Value: bitsOf(1, 700, 333, 1)}}
	for _, metadata := range []map[string]string{nil, {"steps": "1000", "format": "pt"}} {
		path := save(t, tensors, metadata)
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data := 8 + binary.LittleEndian.Uint64(file)
		table := crc32.MakeTable(crc32.Castagnoli)
		sum := crc32.Checksum(file[data:], table)
		if metadata != nil {
			sum = crc32.Update(sum, table, []byte("format\x00pt\x00steps\x001000\x00"))
		}
		if want := fmt.Sprintf(`"%s":"%08x"`, lookup.ChecksumKey, sum); data%8 != 0 || !bytes.Contains(file[8:data], []byte(want)) {
			t.Errorf("%.80q, want %s", file, want)
		}
		if metadata == nil {
			continue
		}
		if err := os.WriteFile(path, bytes.Replace(file, []byte("1000"), []byte("9000"), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		var damaged *lookup.FormatError
		if got, err := lookup.Load(path, cleared(tensors)); !errors.As(err, &damaged) {
			t.Errorf("loaded with the metadata %v, error %v", got, err)
		}
	}
}

// TestLoadSome takes some tensors out of a file of several types, in another order than they have there, and is as strict about
// these as Load.
func TestLoadSome(t *testing.T) {
	file := foreign(`{"__metadata__":{"format":"pt"},"half":{"dtype":"I16","shape":[2,2,1],"data_offsets":[0,8]},`+
		`"a":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},"b":{"dtype":"F32","shape":[1],"data_offsets":[24,28]}}`, 7)
	path := write(t, file)
	tensors, metadata, err := lookup.Tensors(path)
	want := []lookup.Tensor{{"half", "I16", []int64{2, 2, 1}}, {"a", "F32", []int64{2, 2}}, {"b", "F32", []int64{1}}}
	if err != nil || !reflect.DeepEqual(tensors, want) || len(metadata) != 1 || metadata["format"] != "pt" {
		t.Errorf("it holds %v, %v, error %v", tensors, metadata, err)
	}

	a, b := bitsOf(1, 2, 2, 1), bitsOf(1, 1, 1, 0)
	some := []lookup.Parameter{{Name: "b", Value: b}, {Name: "a", Value: a}}
	metadata, err = lookup.LoadSome(path, some)
	if got := slices.Concat(a.Row(0), a.Row(1), b.Data); err != nil || !slices.Equal(got, []float32{3, 4, 5, 6, 7}) || metadata["format"] != "pt" {
		t.Errorf("loaded %v, metadata %v, error %v", got, metadata, err)
	}
	if _, err := lookup.LoadSome(path, nil); err != nil {
		t.Errorf("nothing is asked for: error %v", err)
	}
	for _, c := range []struct {
		tensor lookup.Parameter
		want   string
	}{
		{lookup.Parameter{Name: "c", Value: a}, `it holds no tensor "c"`},
		{lookup.Parameter{Name: "half", Value: a}, `tensor "half" has dtype I16 and not F32, BF16 or F16`},
		{lookup.Parameter{Name: "a", Value: bitsOf(2, 2, 3, 0)}, `tensor "a" has shape [2, 2] and not [2, 3]`},
	} {
		clear(b.Data)
		_, err := lookup.LoadSome(path, []lookup.Parameter{{Name: "b", Value: b}, c.tensor})
		if err == nil || err.Error() != "rowvec: "+path+": "+c.want || b.Data[0] != 0 {
			t.Errorf("error %v, want %s; b is %v", err, c.want, b.Data)
		}
	}
}

// TestLoadHalves: every number of 16 bits becomes the float32 that it is, NaN with what else their bits say, in matrices with gaps and
// beside others.
func TestLoadHalves(t *testing.T) {
	const rows, cols = 128, 512
	header := `{"h":{"dtype":"F16","shape":[128,512],"data_offsets":[0,131072]},"x":{"dtype":"F32","shape":[3],"data_offsets":[131072,131084]},` +
		`"b":{"dtype":"BF16","shape":[65536],"data_offsets":[131084,262156]}}`
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	for k := range 2 {
		for i := range rows * cols {
			file = binary.LittleEndian.AppendUint16(file, uint16(i))
		}
		for i := 0; k == 0 && i < 3; i++ {
			file = binary.LittleEndian.AppendUint32(file, math.Float32bits(float32(i)))
		}
	}
	half, brain, x := bitsOf(1, rows, cols, 3), bitsOf(2, 1, rows*cols, 0), bitsOf(3, 1, 3, 0)
	if _, err := lookup.Load(write(t, file), []lookup.Parameter{
		{Name: "b", Value: brain}, {Name: "h", Value: half}, {Name: "x", Value: x},
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x.Data, []float32{0, 1, 2}) {
		t.Errorf("x is %v", x.Data)
	}
	for i := range rows * cols {
		if got := math.Float32bits(brain.Data[i]); got != uint32(i)<<16 {
			t.Fatalf("BF16 %#04x: %#08x", i, got)
		}
		got := half.Row(i / cols)[i%cols]
		exponent, fraction := i>>10&31, float64(i&1023)
		want := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			if bits := math.Float32bits(got); got == got || bits>>31 != uint32(i)>>15 || bits>>13&1023 != uint32(i)&1023 {
				t.Fatalf("F16 %#04x: %#08x", i, bits)
			}
			continue
		}
		if i>>15 != 0 {
			want = -want
		}
		if float64(got) != want || math.Signbit(float64(got)) != math.Signbit(want) {
			t.Fatalf("F16 %#04x: %v, want %v", i, got, want)
		}
	}
}

// TestLoadSomeOfDamaged: a checksum is one of all tensors, also of those that are not asked for.
func TestLoadSomeOfDamaged(t *testing.T) {
	tensors := []lookup.Parameter{{Name: "a", Value: bitsOf(1, 70000, 1, 0)}, {Name: "b", Value: bitsOf(2, 3, 2, 1)}}
	path := save(t, tensors, map[string]string{"step": "7"})
	got := cleared(tensors[1:])
	if metadata, err := lookup.LoadSome(path, got); err != nil || !sameBits(got, tensors[1:]) || len(metadata) != 1 {
		t.Errorf("metadata %v, error %v", metadata, err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file[8+binary.LittleEndian.Uint64(file)+5] ^= 1 // of a
	got = cleared(tensors[1:])
	var damaged *lookup.FormatError
	if _, err := lookup.LoadSome(write(t, file), got); !errors.As(err, &damaged) || !sameBits(got, cleared(tensors[1:])) {
		t.Errorf("error %v", err)
	}
}
