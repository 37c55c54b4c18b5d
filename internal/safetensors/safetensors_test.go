package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/rowvec/rowvec/internal/isatest"
)

// file returns a file with this header, unpadded, and so many bytes of data.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func read(b []byte) (*Header, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestRead(t *testing.T) {
	for _, c := range []struct {
		header string
		data   int
		want   []Tensor
	}{
		{`{}`, 0, nil},
		{`{}   `, 0, nil},
		{`{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`, 24, []Tensor{{"a", "F32", []int64{2, 3}, 0, 24}}},
		{`{"a":{"data_offsets":[0,4],"shape":[],"dtype":"I32"}}`, 4, []Tensor{{"a", "I32", []int64{}, 0, 4}}},
		{`{ "b" : {"dtype":"U8","shape":[3],"data_offsets":[4,7]}, "__metadata__":{},` +
			`"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}, "c":{"dtype":"F64","shape":[0],"data_offsets":[4,4]}}`, 7,
			[]Tensor{{"a", "BF16", []int64{1, 2}, 0, 4}, {"c", "F64", []int64{0}, 4, 4}, {"b", "U8", []int64{3}, 4, 7}}},
		{`{"":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]}}`, 2, []Tensor{{"", "F4", []int64{2, 2}, 0, 2}}},
	} {
		h, err := read(file(c.header, c.data))
		if err != nil || !reflect.DeepEqual(h.Tensors, c.want) || h.Data != int64(8+len(c.header)) {
			t.Errorf("%s: %+v, %v", c.header, h, err)
		}
	}
	h, err := read(file(`{"__metadata__":{"format":"pt","é\n\"":"\u00e9","\\ud800":"\uD83D\ude00"}}`, 0))
	if err != nil || !reflect.DeepEqual(h.Metadata, map[string]string{"format": "pt", "é\n\"": "é", `\ud800`: "\U0001f600"}) {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestReadTypes has a tensor of eight elements of each type that the reference implementation knows.
func TestReadTypes(t *testing.T) {
	bytes := map[string]int{
		"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F8_E8M0": 8, "F4": 4,
		"F6_E2M3": 6, "F6_E3M2": 6, "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32, "U64": 64,
		"I64": 64, "F64": 64, "C64": 64,
	}
	for dtype, n := range bytes {
		h, err := read(file(fmt.Sprintf(`{"a":{"dtype":%q,"shape":[8],"data_offsets":[0,%d]}}`, dtype, n), n))
		if want := []Tensor{{"a", dtype, []int64{8}, 0, int64(n)}}; err != nil || !reflect.DeepEqual(h.Tensors, want) {
			t.Errorf("%s: %+v, %v", dtype, h, err)
		}
	}
	if len(bytes) != len(widths) {
		t.Errorf("%d types, want %d", len(widths), len(bytes))
	}
}

// syntaxError returns the text of the error that package json ends with, or none.
func syntaxError(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			return "no error"
		} else if err != nil {
			return err.Error()
		}
	}
}

func TestReadMisuse(t *testing.T) {
	const a = `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	tensor := func(fields string) string { return `{"a":{` + fields + `}}` }
	for _, c := range []struct {
		header string
		data   int
		want   string
	}{
		{"", 0, "the header does not begin with {"},
		{` {}`, 0, "the header does not begin with {"},
		{`[]`, 0, "the header does not begin with {"},
		{`{}` + "\n", 0, "the header does not end with } and spaces"},
		{`{}` + "\x00", 0, "the header does not end with } and spaces"},
		{`{} {}`, 0, "the header goes on behind its JSON object"},
		{`{}}`, 0, "the header goes on behind its JSON object"},
		{`{`, 0, "the header does not end with } and spaces"},
		{`{"a}`, 0, "the header is not valid JSON: unexpected EOF"},
		{`{"` + "\xff" + `":{}}`, 0, "the header is not valid UTF-8"},
		{`{"\ud800":{}}`, 0, "the header has an escape that is half of a surrogate pair"},
		{`{"\\\uDFFF":{}}`, 0, "the header has an escape that is half of a surrogate pair"},
		{`{"__metadata__":{"x":"\udc00\ud800"}}`, 0, "the header has an escape that is half of a surrogate pair"},
		{`{"__metadata__":{"x":"\ud83d\ude00\ud83d\n"}}`, 0, "the header has an escape that is half of a surrogate pair"},
		{`{"a":"\ud83d` + `"}`, 0, "the header has an escape that is half of a surrogate pair"},
		{`{"\ud8"}`, 0, "the header is not valid JSON"},
		{`{"\ud8zz":"\"}`, 0, "the header is not valid JSON"},
		{`{` + a + `,}`, 8, "the header is not valid JSON: " + syntaxError(`{`+a+`,}`)}, // of which Go 1.27 says something else than before
		{`{,` + a + `}`, 8, "the header is not valid JSON: invalid character ','"},
		{`{"a":[]}`, 0, `tensor "a" is not what it should be in the header: [ instead of {`},
		{`{"a":` + strings.Repeat("[", 100000) + `}`, 0, `tensor "a" is not what it should be in the header: [ instead of {`},
		{`{"a":7}`, 0, `tensor "a" is not what it should be in the header: 7 instead of {`},
		{`{"a":null}`, 0, `tensor "a" is not what it should be in the header: null instead of {`},
		{`{1:{}}`, 0, "the header is not valid JSON"},
		{`{` + a + `,` + a + `}`, 8, `the header has "a" twice`},
		{`{` + a + `,"\u0061":{}}`, 8, `the header has "a" twice`},
		{`{"__metadata__":{},"__metadata__":{}}`, 0, `the header has "__metadata__" twice`},
		{`{"__metadata__":{"x":"1","x":"1"}}`, 0, `the metadata have "x" twice`},
		{`{"__metadata__":{"x":1}}`, 0, `the metadata "x" are 1: not a string`},
		{`{"__metadata__":{"x":{}}}`, 0, `the metadata "x" are {: not a string`},
		{`{"__metadata__":null}`, 0, `"__metadata__" is not what it should be in the header: null instead of {`},
		{tensor(`"dtype":"F32","shape":[2]`), 8, `tensor "a" lacks one of dtype and shape and data_offsets`},
		{tensor(``), 8, `tensor "a" lacks one of dtype and shape and data_offsets`},
		{tensor(`"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]`), 8, `tensor "a" has "dtype" twice`},
		{tensor(`"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":0`), 8, `tensor "a" has the unknown field "x"`},
		{tensor(`"dtype":"f32","shape":[2],"data_offsets":[0,8]`), 8, `tensor "a" has the unknown dtype "f32"`},
		{tensor(`"dtype":32,"shape":[2],"data_offsets":[0,8]`), 8, `tensor "a" has the unknown dtype 32`},
		{tensor(`"dtype":"F32","shape":2,"data_offsets":[0,8]`), 8, `shape of "a" is not what it should be in the header: 2 instead of [`},
		{tensor(`"dtype":"F32","shape":[-2],"data_offsets":[0,8]`), 8, `tensor "a" has -2 in its shape: not a whole number below 2^63`},
		{tensor(`"dtype":"F32","shape":[2.0],"data_offsets":[0,8]`), 8, `tensor "a" has 2.0 in its shape`},
		{tensor(`"dtype":"F32","shape":["2"],"data_offsets":[0,8]`), 8, `tensor "a" has "2" in its shape`},
		{tensor(`"dtype":"F32","shape":[[2]],"data_offsets":[0,8]`), 8, `tensor "a" has [ in its shape`},
		{tensor(`"dtype":"F32","shape":[2],"data_offsets":[0,8,8]`), 8, `tensor "a" has 3 data_offsets instead of 2`},
		{tensor(`"dtype":"F32","shape":[2],"data_offsets":[0,9223372036854775808]`), 8, `tensor "a" has 9223372036854775808 in its data_offsets`},
		{tensor(`"dtype":"F32","shape":[2],"data_offsets":[8,0]`), 8, `tensor "a" ends at byte 0 of the data and begins at 8`},
		{tensor(`"dtype":"F32","shape":[3],"data_offsets":[0,8]`), 8, `tensor "a" has 8 bytes: not what F32 and shape [3] come to`},
		{tensor(`"dtype":"F4","shape":[3],"data_offsets":[0,1]`), 1, `tensor "a" has 1 bytes: not what F4 and shape [3] come to`},
		{tensor(`"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]`), 0, `tensor "a" has 0 bytes: not what F32 and shape [4294967296, 4294967296] come to`},
		{tensor(`"dtype":"F32","shape":[576460752303423488],"data_offsets":[0,0]`), 0, `tensor "a" has 0 bytes: not what F32`}, // 2^64 bits
		{tensor(`"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,8]`), 8, `shape [1, 1, 1, 1, 1, 1, 1, 1, ...]`},
		{tensor(`"dtype":"F32","shape":[2],"data_offsets":[4,12]`), 12, `4 bytes in front of tensor "a" belong to no tensor`},
		{`{` + a + `,"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}}`, 20, `4 bytes in front of tensor "b" belong to no tensor`},
		{`{` + a + `,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12, `tensor "b" begins at byte 4 of the data where another ends at 8`},
		{`{` + a + `,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, `begins at byte 0 of the data where another ends at 8`},
		{`{` + a + `,"b":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}`, 8, `tensor "b" begins at byte 4 of the data where another ends at 8`},
		{`{` + a + `}`, 7, "the data have 7 bytes where the header says 8: the file is cut off"},
		{`{` + a + `}`, 9, "the data have 9 bytes where the header says 8"},
		{`{}`, 1, "the data have 1 bytes where the header says 0"},
		{`{"` + strings.Repeat("n", 5000) + `":{"dtype":"x"}}`, 0, `tensor "` + strings.Repeat("n", 80) + `"... has the unknown dtype "x"`},
	} {
		h, err := read(file(c.header, c.data))
		var e Error
		if !errors.As(err, &e) || !strings.Contains(string(e), c.want) || len(e) > 500 {
			t.Errorf("%.80s: %+v, error %v, want %s", c.header, h, err, c.want)
		}
	}
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "0 bytes are too short for a safetensors file"},
		{make([]byte, 7), "7 bytes are too short for a safetensors file"},
		{make([]byte, 8), "the header does not begin with {"},
		{binary.LittleEndian.AppendUint64(nil, 1), "the header has 1 bytes where the file has 0 left: it is cut off"},
		{binary.LittleEndian.AppendUint64(nil, MaxHeader+1), "the length of the header is 100000001: more than 100000000"},
		{binary.LittleEndian.AppendUint64(nil, 1<<63), "the length of the header is 9223372036854775808: more than 100000000"},
	} {
		var e Error
		if _, err := read(c.file); !errors.As(err, &e) || !strings.HasPrefix(string(e), c.want) {
			t.Errorf("%v: error %v, want %s", c.file, err, c.want)
		}
	}
}

// TestReadError: what is wrong with the reader is not called a wrong file.
func TestReadError(t *testing.T) {
	whole := file(`{}      `, 0)
	for n := range whole {
		_, err := Read(bytes.NewReader(whole[:n]), int64(len(whole)))
		if invalid := Error(""); err == nil || errors.As(err, &invalid) {
			t.Errorf("%d bytes of %d: error %v", n, len(whole), err)
		}
	}
}

func TestEncode(t *testing.T) {
	tensors := []Tensor{
		{Name: "b\"<", DType: "F32", Shape: []int64{2, 1}},
		{Name: "", DType: "F64", Shape: []int64{0, 7}},
		{Name: "a", DType: "F16", Shape: []int64{3}},
	}
	metadata := map[string]string{"y": "2", "x": "é\x00"}
	b, err := Encode(tensors, metadata)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"__metadata__":{"x":"é\u0000","y":"2"},"b\"\u003c":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},` +
		`"":{"dtype":"F64","shape":[0,7],"data_offsets":[8,8]},"a":{"dtype":"F16","shape":[3],"data_offsets":[8,14]}}`
	if got := strings.TrimRight(string(b[8:]), " "); got != want || len(b)%8 != 0 || len(b)-8-len(want) > 7 {
		t.Errorf("%d bytes: %s, want %s", len(b), got, want)
	}
	h, err := read(append(b, make([]byte, 14)...))
	if err != nil || !reflect.DeepEqual(h.Tensors, tensors) || !reflect.DeepEqual(h.Metadata, metadata) || h.Data != int64(len(b)) {
		t.Errorf("%+v, %v", h, err)
	}
	if b, err := Encode(nil, nil); err != nil || string(b) != "\x08\x00\x00\x00\x00\x00\x00\x00{}      " {
		t.Errorf("%q, %v", b, err)
	}
}

func TestEncodeMisuse(t *testing.T) {
	one := Tensor{Name: "a", DType: "F32", Shape: []int64{1}}
	named := func(name string) Tensor { return Tensor{Name: name, DType: "F32"} }
	large := Tensor{Name: "large", DType: "U8", Shape: []int64{1 << 60}}
	huge := strings.Repeat("x", MaxHeader)
	var many []Tensor
	for _, name := range strings.Split(strings.Repeat("x", 9), "") {
		large.Name += name
		many = append(many, large)
	}
	for _, c := range []struct {
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		{[]Tensor{one, one}, nil, `two tensors are called "a"`},
		{[]Tensor{named("__metadata__")}, nil, `no tensor can be called "__metadata__"`},
		{[]Tensor{named("\xff")}, nil, `the name "\xff" is not valid UTF-8`},
		{nil, map[string]string{"a": "\xff"}, `the metadata "a" are not valid UTF-8`},
		{nil, map[string]string{"\xff": ""}, `the metadata "\xff" are not valid UTF-8`},
		{[]Tensor{{Name: "a", DType: "F32", Shape: []int64{1 << 40, 1 << 40}}}, nil, `tensor "a" of shape [1099511627776, 1099511627776] is too large`},
		{many, nil, "is too large"}, // all together
		{nil, map[string]string{"a": huge}, "the header has 100000032 bytes: more than 100000000"},
	} {
		if c.metadata["a"] == huge && isatest.Few() {
			continue // which copies it several times
		}
		if b, err := Encode(c.tensors, c.metadata); err == nil || !strings.Contains(err.Error(), c.want) || b != nil {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
