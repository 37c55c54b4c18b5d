// Package safetensors reads and writes the headers of safetensors files, the format of Hugging Face for named tensors
// (https://github.com/huggingface/safetensors): the length of the header, 8 bytes in little-endian order; the header, a
// JSON object of names with what is known of each tensor, and of "__metadata__" with strings; and the data, row-major and
// little-endian, one tensor behind the other.
//
// It is strict: what it accepts has every byte of the file accounted for, once. It does not look at the data.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Metadata is the name in the header that is no tensor's.
const Metadata = "__metadata__"

// MaxHeader is the most bytes that a header may have; the reference implementation has the same limit.
const MaxHeader = 100_000_000

// lengthBytes is how many bytes the length of the header takes.
const lengthBytes = 8

// widths are the types of elements, and their bits. Those of less than a byte are packed.
var widths = map[string]uint64{
	"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F8_E8M0": 8,
	"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
}

// Error says what is wrong with a file.
type Error string

func (e Error) Error() string { return string(e) }

func problem(format string, args ...any) error { return Error(fmt.Sprintf(format, args...)) }

// Tensor is what a header says of a tensor.
type Tensor struct {
	Name       string
	DType      string  // such as "F32"
	Shape      []int64 // none of them negative
	Begin, End int64   // its bytes, counted from the first of the data
}

// Header is what a file says of itself.
type Header struct {
	Tensors  []Tensor // in the order of their data
	Metadata map[string]string
	Data     int64 // where in the file the data begin
}

// Read reads and checks the header of a file of size bytes. An error is an Error if the file is to blame, or that of r.
func Read(r io.ReaderAt, size int64) (*Header, error) {
	if size < lengthBytes {
		return nil, problem("%d bytes are too short for a safetensors file", size)
	}
	var prefix [lengthBytes]byte
	if err := readFull(r, prefix[:], 0); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	switch {
	case length > MaxHeader:
		return nil, problem("the length of the header is %d: more than %d; this is no safetensors file", length, MaxHeader)
	case int64(length) > size-lengthBytes:
		return nil, problem("the header has %d bytes where the file has %d left: it is cut off", length, size-lengthBytes)
	}
	text := make([]byte, length)
	if err := readFull(r, text, lengthBytes); err != nil {
		return nil, err
	}
	h, err := parse(text)
	if err != nil {
		return nil, err
	}
	h.Data = lengthBytes + int64(length)
	return h, h.check(size - h.Data)
}

// readFull is r.ReadAt for all of b: the end of the file in between means that it has become shorter meanwhile.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}

// parse returns what a header says, without a look at whether it fits together.
func parse(text []byte) (*Header, error) {
	switch {
	case len(text) == 0 || text[0] != '{':
		return nil, problem("the header does not begin with {")
	case !utf8.Valid(text):
		return nil, problem("the header is not valid UTF-8")
	case hasHalfPair(text):
		return nil, problem("the header has an escape that is half of a surrogate pair, and so no character")
	}
	object := bytes.TrimRight(text, " ")
	if object[len(object)-1] != '}' { // encoding/json would take other white space too
		return nil, problem("the header does not end with } and spaces")
	}
	p := parser{json.NewDecoder(bytes.NewReader(object))}
	p.UseNumber()
	h := new(Header)
	names := make(map[string]bool)
	err := p.object("an object", func(name string) error {
		if names[name] {
			return problem("the header has %s twice", Quote(name))
		}
		names[name] = true
		if name == Metadata {
			return p.metadata(h)
		}
		t, err := p.tensor(name)
		h.Tensors = append(h.Tensors, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	if p.InputOffset() != int64(len(object)) {
		return nil, problem("the header goes on behind its JSON object")
	}
	return h, nil
}

// hasHalfPair reports an escape \uD800 to \uDFFF that is not one of two which make a character. The reference
// implementation refuses it, and encoding/json takes it for U+FFFD, so that names which differ would be one.
func hasHalfPair(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return false
		}
		text = text[at:]
		switch r := escaped(text); {
		case !utf16.IsSurrogate(r):
			text = text[min(2, len(text)):]
		case utf16.DecodeRune(r, escaped(text[6:])) == utf8.RuneError:
			return true
		default:
			text = text[12:]
		}
	}
}

// escaped returns the number of the escape, \u and four hexadecimal digits, that text begins with, -1 if it does not.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(r)
}

// parser goes through a header token by token: what is not where it should be ends it, however deep it goes, and names
// that occur twice are seen, which encoding/json by itself lets pass.
type parser struct{ *json.Decoder }

func (p parser) token() (json.Token, error) {
	t, err := p.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, problem("the header is not valid JSON: %v", err)
	}
	return t, nil
}

func (p parser) delim(want json.Delim, where string) error {
	t, err := p.token()
	if err == nil && t != want {
		err = problem("%s is not what it should be in the header: %v instead of %v", where, describe(t), want)
	}
	return err
}

// object calls value for each name of an object, which has to take what belongs to it.
func (p parser) object(what string, value func(name string) error) error {
	if err := p.delim('{', what); err != nil {
		return err
	}
	for p.More() {
		t, err := p.token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return problem("the header has %v where a name should be", describe(t))
		}
		if err := value(name); err != nil {
			return err
		}
	}
	return p.delim('}', what)
}

func (p parser) metadata(h *Header) error {
	h.Metadata = make(map[string]string)
	return p.object(`"__metadata__"`, func(key string) error {
		if _, twice := h.Metadata[key]; twice {
			return problem("the metadata have %s twice", Quote(key))
		}
		t, err := p.token()
		if err != nil {
			return err
		}
		value, ok := t.(string)
		if !ok {
			return problem("the metadata %s are %v: not a string", Quote(key), describe(t))
		}
		h.Metadata[key] = value
		return nil
	})
}

func (p parser) tensor(name string) (Tensor, error) {
	t := Tensor{Name: name}
	var offsets []int64
	seen := make(map[string]bool, 3)
	err := p.object("tensor "+Quote(name), func(field string) error {
		if seen[field] {
			return problem("tensor %s has %s twice", Quote(name), Quote(field))
		}
		seen[field] = true
		switch field {
		case "dtype":
			value, err := p.token()
			if err != nil {
				return err
			}
			dtype, ok := value.(string)
			if !ok || widths[dtype] == 0 {
				return problem("tensor %s has the unknown dtype %v", Quote(name), describe(value))
			}
			t.DType = dtype
			return nil
		case "shape":
			var err error
			t.Shape, err = p.numbers(name, field)
			return err
		case "data_offsets":
			var err error
			offsets, err = p.numbers(name, field)
			return err
		}
		return problem("tensor %s has the unknown field %s", Quote(name), Quote(field))
	})
	switch {
	case err != nil:
		return t, err
	case len(seen) != 3:
		return t, problem("tensor %s lacks one of dtype and shape and data_offsets", Quote(name))
	case len(offsets) != 2:
		return t, problem("tensor %s has %d data_offsets instead of 2", Quote(name), len(offsets))
	}
	t.Begin, t.End = offsets[0], offsets[1]
	return t, nil
}

// numbers returns an array of whole numbers that are not negative.
func (p parser) numbers(name, field string) ([]int64, error) {
	if err := p.delim('[', field+" of "+Quote(name)); err != nil {
		return nil, err
	}
	list := []int64{}
	for p.More() {
		t, err := p.token()
		if err != nil {
			return nil, err
		}
		digits, ok := t.(json.Number)
		n, err := strconv.ParseUint(string(digits), 10, 63)
		if !ok || err != nil {
			return nil, problem("tensor %s has %v in its %s: not a whole number below 2^63", Quote(name), describe(t), field)
		}
		list = append(list, int64(n))
	}
	return list, p.delim(']', field+" of "+Quote(name))
}

// check reports tensors whose sizes are not those of their shapes, or that do not fill size bytes of data, each of them
// once. It sorts them.
func (h *Header) check(size int64) error {
	slices.SortStableFunc(h.Tensors, func(a, b Tensor) int { // empty ones first
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End))
	})
	end := int64(0)
	for i := range h.Tensors {
		t := &h.Tensors[i]
		want, ok := t.bytes()
		switch {
		case t.Begin > t.End:
			return problem("tensor %s ends at byte %d of the data and begins at %d", Quote(t.Name), t.End, t.Begin)
		case !ok || want != t.End-t.Begin:
			return problem("tensor %s has %d bytes: not what %s and shape %s come to",
				Quote(t.Name), t.End-t.Begin, t.DType, FormatShape(t.Shape))
		case t.Begin > end:
			return problem("%d bytes in front of tensor %s belong to no tensor", t.Begin-end, Quote(t.Name))
		case t.Begin < end:
			return problem("tensor %s begins at byte %d of the data where another ends at %d", Quote(t.Name), t.Begin, end)
		}
		end = t.End
	}
	switch {
	case size < end:
		return problem("the data have %d bytes where the header says %d: the file is cut off", size, end)
	case size > end:
		return problem("the data have %d bytes where the header says %d", size, end)
	}
	return nil
}

// bytes returns the size that the tensor has by its shape; ok is false if there is none.
func (t *Tensor) bytes() (n int64, ok bool) {
	elements := uint64(1)
	for _, d := range t.Shape {
		var high uint64
		if high, elements = bits.Mul64(elements, uint64(d)); high != 0 {
			return 0, false
		}
	}
	high, size := bits.Mul64(elements, widths[t.DType])
	return int64(size / 8), high == 0 && size%8 == 0
}

// Encode returns the length of the header and the header of a file that holds the tensors one behind the other, padded
// with spaces to a multiple of 8 bytes, so that the data are aligned. It sets Begin and End. Names must differ, and
// may be any text but "__metadata__". The metadata stand in the order of their keys: equal arguments give equal bytes.
func Encode(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	text := append(make([]byte, lengthBytes), '{')
	names := make(map[string]bool, len(tensors))
	end := int64(0)
	member := func(key string) { // begins a member of an object
		if text[len(text)-1] != '{' {
			text = append(text, ',')
		}
		text = append(appendString(text, key), ':')
	}
	if len(metadata) > 0 {
		member(Metadata)
		text = append(text, '{')
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			if !utf8.ValidString(key) || !utf8.ValidString(metadata[key]) {
				return nil, problem("the metadata %s are not valid UTF-8", Quote(key))
			}
			member(key)
			text = appendString(text, metadata[key])
		}
		text = append(text, '}')
	}
	for i := range tensors {
		t := &tensors[i]
		size, ok := t.bytes()
		switch {
		case names[t.Name]:
			return nil, problem("two tensors are called %s", Quote(t.Name))
		case t.Name == Metadata:
			return nil, problem("no tensor can be called %s", Quote(t.Name))
		case !utf8.ValidString(t.Name):
			return nil, problem("the name %s is not valid UTF-8", Quote(t.Name))
		case !ok || end+size < end:
			return nil, problem("tensor %s of shape %s is too large", Quote(t.Name), FormatShape(t.Shape))
		}
		names[t.Name] = true
		t.Begin, t.End = end, end+size
		end = t.End
		member(t.Name)
		text = append(appendString(append(text, `{"dtype":`...), t.DType), `,"shape":[`...)
		for j, d := range t.Shape {
			if j > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, d, 10)
		}
		text = fmt.Appendf(text, `],"data_offsets":[%d,%d]}`, t.Begin, t.End)
	}
	text = append(text, '}')
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	length := len(text) - lengthBytes
	if length > MaxHeader {
		return nil, problem("the header has %d bytes: more than %d", length, MaxHeader)
	}
	binary.LittleEndian.PutUint64(text, uint64(length))
	return text, nil
}

func appendString(text []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string has none
	}
	return append(text, quoted...)
}

// What files say may be long, and goes into messages only so far.
const (
	shownBytes = 80
	shownDims  = 8
)

// Quote returns s in quotation marks, or its beginning.
func Quote(s string) string {
	if len(s) > shownBytes {
		return strconv.Quote(s[:shownBytes]) + "..."
	}
	return strconv.Quote(s)
}

// FormatShape returns a shape as Python writes it, such as [2, 3], or its beginning.
func FormatShape(shape []int64) string {
	var s strings.Builder
	for i, d := range shape {
		if i > 0 {
			s.WriteString(", ")
		}
		if i == shownDims {
			s.WriteString("...")
			break
		}
		s.WriteString(strconv.FormatInt(d, 10))
	}
	return "[" + s.String() + "]"
}

// describe returns a token for a message.
func describe(t json.Token) string {
	switch t := t.(type) {
	case string:
		return Quote(t)
	case json.Number:
		if len(t) > shownBytes {
			return string(t[:shownBytes]) + "..."
		}
		return string(t)
	case nil:
		return "null"
	}
	return fmt.Sprint(t)
}
