package lookup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/replace"
	"github.com/rowvec/rowvec/internal/safetensors"
)

// ChecksumKey is the key in the metadata of a file under which Save leaves the checksum that Load looks at: the CRC-32C
// (Castagnoli) of all bytes behind the header, and then of the other metadata, keys ascending, each key and each value with
// a byte 0 behind it, as eight lower-case hexadecimal digits. A program that changes data and keeps the metadata has to leave it out.
// What would be this key but for up to four bytes in one place is an error: a damaged key must not switch the check off.
const ChecksumKey = "rowvec.crc32c"

// FormatError reports a file that is no valid safetensors file, that is damaged, or that does not hold what is asked for;
// and tensors or metadata that no such file can hold, of which Problem begins with "cannot be saved: ".
type FormatError struct {
	Path    string
	Problem string // what is wrong
}

// Error names the file and what is wrong with it.
func (e *FormatError) Error() string { return fmt.Sprintf("rowvec: %s: %s", e.Path, e.Problem) }

// pieceBytes is how much of a file is read or written at a time.
const pieceBytes = 256 << 10

// Save writes the tensors to a safetensors file, the format of Hugging Face, which Python reads by
// safetensors.torch.load_file: each under its name, as F32 of shape [Rows, Cols], or [Rows*Cols] if it is a Vector, without
// gaps between its rows, all bits kept. Optimizer state is tensors like any others (see the example of resuming).
// The metadata are any text in UTF-8, such as the number of steps; they may be nil. Libraries that ask for the origin of a file
// look for "format": "pt" among them.
//
// The file takes the place of one at path at once and as a whole, with its permissions, and its owner and group where they may be
// given (the group's permissions are dropped where it may not), when all of it is on the disk;
// until then it has a name of its own in the same directory. Where path is a symbolic link, to a file or to nothing, it
// takes the place of the link; whatever else is at path, such as a device or what the system does not say, is an error.
// After an error the file at path is as it was, unless the error says that it has been replaced: where a directory may be
// written to but not opened, nobody can tell whether the new name is on the disk. Nobody may change the tensors meanwhile.
// Tensors that share memory are written each for itself, but Load refuses to read into such: a table that is tied to
// another belongs among them once.
//
// Errors: ShapeError for a tensor whose fields contradict each other, and for a Vector that has neither one row nor one
// column; those of the file system, wrapped; and FormatError for names that are not unique, that are "__metadata__", or are
// not valid UTF-8, and for metadata that are not, or that hold ChecksumKey or what it would be with up to four bytes damaged.
func Save(path string, tensors []Parameter, metadata map[string]string) error {
	const op = "lookup.Save"
	headers := make([]safetensors.Tensor, len(tensors))
	for i, t := range tensors {
		if err := rowvec.CheckMatrix(op, t.Name, t.Value); err != nil {
			return err
		}
		rows, cols := t.Value.Rows, t.Value.Cols
		shape := []int64{int64(rows), int64(cols)}
		if t.Vector {
			if rows != 1 && cols != 1 {
				return check.Equal(op, "rows of vector "+t.Name, rows, 1)
			}
			shape = []int64{int64(rows * cols)}
		}
		headers[i] = safetensors.Tensor{Name: t.Name, DType: "F32", Shape: shape}
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if key == ChecksumKey || resemblesChecksumKey(key) {
			return &FormatError{path, notSaved + "the key " + safetensors.Quote(key) + " of the metadata belongs to Save"}
		}
	}
	all := maps.Clone(metadata)
	if all == nil {
		all = make(map[string]string, 1)
	}
	header := func(sum uint32) ([]byte, error) {
		all[ChecksumKey] = fmt.Sprintf("%08x", sum)
		return safetensors.Encode(headers, all)
	}
	first, err := header(0)
	if err != nil {
		return &FormatError{path, notSaved + err.Error()}
	}
	err = replace.File(path, func(f replace.Temporary) error {
		if _, err := f.Write(first); err != nil {
			return err
		}
		sum, err := writeData(f, tensors)
		if err != nil {
			return err
		}
		last, err := header(sumMetadata(sum, metadata)) // as long as the first
		if err != nil {
			return err
		}
		_, err = f.WriteAt(last, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("rowvec: %s: %w", op, err)
	}
	return nil
}

// notSaved begins what is wrong with what a file was to hold, and not with the file.
const notSaved = "cannot be saved: "

// resemblesChecksumKey reports whether a key would be ChecksumKey but for up to four bytes in one place.
func resemblesChecksumKey(key string) bool {
	const damage = 4
	before, behind := 0, 0
	for most := min(len(key), len(ChecksumKey)); before < most && key[before] == ChecksumKey[before]; {
		before++
	}
	for key, want := key[before:], ChecksumKey[before:]; behind < min(len(key), len(want)) &&
		key[len(key)-1-behind] == want[len(want)-1-behind]; {
		behind++
	}
	return key != ChecksumKey && before+behind >= max(len(key), len(ChecksumKey))-damage
}

// readHeader reads the header of a file of size bytes. One whose checksum is under a damaged key is not taken for one without.
func readHeader(f *os.File, size int64) (*safetensors.Header, error) {
	header, err := safetensors.Read(f, size)
	if err != nil {
		return nil, err
	}
	if _, summed := header.Metadata[ChecksumKey]; summed {
		return header, nil
	}
	for _, key := range slices.Sorted(maps.Keys(header.Metadata)) {
		if resemblesChecksumKey(key) {
			return nil, safetensors.Error("the metadata are damaged: " + safetensors.Quote(key) + " looks like " + ChecksumKey)
		}
	}
	return header, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumMetadata goes on with the checksum of the data over the metadata, but for the checksum itself.
func sumMetadata(sum uint32, metadata map[string]string) uint32 {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if key != ChecksumKey {
			sum = crc32.Update(sum, castagnoli, []byte(key+"\x00"+metadata[key]+"\x00"))
		}
	}
	return sum
}

// writeData writes the elements of the tensors in little-endian order and returns their checksum.
func writeData(w io.Writer, tensors []Parameter) (sum uint32, err error) {
	piece := make([]byte, 0, pieceBytes)
	flush := func() error {
		sum = crc32.Update(sum, castagnoli, piece)
		_, err := w.Write(piece)
		piece = piece[:0]
		return err
	}
	for _, t := range tensors {
		for i := range rowsIn(t.Value) {
			for row := t.Value.Row(i); len(row) > 0; {
				if len(piece) == pieceBytes {
					if err := flush(); err != nil {
						return 0, err
					}
				}
				n := min(len(row), (pieceBytes-len(piece))/4)
				for _, x := range row[:n] {
					piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(x))
				}
				row = row[n:]
			}
		}
	}
	err = flush()
	return sum, err
}

// rowsIn returns the number of rows that have something in them: without columns there can be endlessly many.
func rowsIn(m rowvec.Matrix) int {
	if m.Cols == 0 {
		return 0
	}
	return m.Rows
}

// Load reads the tensors from a safetensors file, written by Save or by others, and returns its metadata, without
// ChecksumKey. Like PyTorch's strict loading it wants the file to hold these tensors, found by their names in whatever
// order, and no others: of shape [Rows, Cols], also behind dimensions of 1, as vision transformers have their positions, or
// with fewer than two dimensions and as many elements where the matrix has a single row or column. What lies between rows is
// left alone. Of F32 all bits are kept; BF16 and F16, all of whose numbers a float32 can be, become such, NaN with their
// signs and payloads. It is stricter than the reference implementation: a header is nothing but what the format has, so that a tensor
// has no further fields, metadata are not null and no spaces come first.
//
// Everything is checked before the first element is changed, also the checksum, if the file has one, by a first pass over
// all of its data, and of its metadata: after a FormatError nothing has changed. A file that changes, or that cannot be read
// any more, while it is read for the second time, leaves the tensors partly written; the error says so.
//
// Errors: FormatError, also for names that are not unique; those of the file system, wrapped, so that errors.Is finds
// fs.ErrNotExist; an fs.PathError for what is no file, such as a directory or a named pipe, which nobody waits for;
// ShapeError for a tensor whose fields contradict each other; OverlapError for two that share memory.
func Load(path string, tensors []Parameter) (metadata map[string]string, err error) {
	return loadFile("lookup.Load", path, tensors, true)
}

// LoadSome is Load from a file that may hold other tensors too, of any dtype and shape, such as the rest of a model. These are read
// only where the file has a checksum, which is that of all of them. Tensors says what there is.
func LoadSome(path string, tensors []Parameter) (metadata map[string]string, err error) {
	return loadFile("lookup.LoadSome", path, tensors, false)
}

// Tensor is what a safetensors file says of a tensor.
type Tensor struct {
	Name  string
	DType string  // of its elements, such as "F32", "BF16" or "I64"
	Shape []int64 // none of them below 0; no dimensions are a single number
}

// Tensors returns what a safetensors file holds, in the order of its data, and its metadata, without ChecksumKey: it is how to
// find out what LoadSome needs matrices for. It reads no data, but checks that the file has as many as it says; without data there
// is nothing to hold the metadata to, as LoadSome does where there is a checksum. Errors are FormatError and those of the file
// system.
func Tensors(path string) (tensors []Tensor, metadata map[string]string, err error) {
	err = readFile("lookup.Tensors", path, func(f *os.File, size int64) error {
		header, err := readHeader(f, size)
		if err != nil {
			return err
		}
		for _, t := range header.Tensors {
			tensors = append(tensors, Tensor{t.Name, t.DType, t.Shape})
		}
		metadata = header.Metadata
		delete(metadata, ChecksumKey)
		return nil
	})
	return tensors, metadata, err
}

func loadFile(op, path string, tensors []Parameter, all bool) (metadata map[string]string, err error) {
	wanted, err := byName(op, path, tensors)
	if err != nil {
		return nil, err
	}
	err = readFile(op, path, func(f *os.File, size int64) error {
		metadata, err = load(f, size, wanted, all)
		return err
	})
	return metadata, err
}

// readFile has read read a file, and returns its error as one of op.
func readFile(op, path string, read func(f *os.File, size int64) error) error {
	f, err := openFile(path)
	if err != nil {
		return fmt.Errorf("rowvec: %s: %w", op, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular(): // by now
		err = notRegular(path)
	default:
		err = read(f, info.Size())
	}
	if invalid := safetensors.Error(""); errors.As(err, &invalid) {
		return &FormatError{path, string(invalid)}
	}
	if err != nil {
		return fmt.Errorf("rowvec: %s: %w", op, err)
	}
	return nil
}

// openFile opens a file to read, and nothing else: to open a named pipe would wait for somebody to write to it.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	return os.Open(path)
}

func notRegular(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: replace.ErrNotRegular}
}

// byName checks the tensors that are to be loaded.
func byName(op, path string, tensors []Parameter) (map[string]rowvec.Matrix, error) {
	wanted := make(map[string]rowvec.Matrix, len(tensors))
	for i, t := range tensors {
		if err := rowvec.CheckMatrix(op, t.Name, t.Value); err != nil {
			return nil, err
		}
		if _, twice := wanted[t.Name]; twice {
			return nil, &FormatError{path, "two tensors are called " + safetensors.Quote(t.Name)}
		}
		wanted[t.Name] = t.Value
		for _, other := range tensors[:i] {
			if rowvec.Overlap(t.Value, other.Value) {
				return nil, &rowvec.OverlapError{Op: op, Dst: t.Name, Src: other.Name}
			}
		}
	}
	return wanted, nil
}

// load sets what is wanted of a file of size bytes, which is to be all that it holds if all is true.
func load(f *os.File, size int64, wanted map[string]rowvec.Matrix, all bool) (map[string]string, error) {
	header, err := readHeader(f, size)
	if err != nil {
		return nil, err
	}
	if err := match(header.Tensors, wanted, all); err != nil {
		return nil, err
	}
	text, summed := header.Metadata[ChecksumKey]
	section := func(t safetensors.Tensor) io.Reader {
		return io.NewSectionReader(f, header.Data+t.Begin, t.End-t.Begin)
	}
	ofAll, ofWanted := crc32.New(castagnoli), crc32.New(castagnoli)
	buffer := make([]byte, pieceBytes)
	for _, t := range header.Tensors {
		to := io.Writer(ofAll)
		if _, want := wanted[t.Name]; want {
			to = io.MultiWriter(ofAll, ofWanted)
		} else if !summed {
			continue
		}
		if n, err := io.CopyBuffer(to, onlyReader{section(t)}, buffer); err != nil {
			return nil, err
		} else if n < t.End-t.Begin {
			return nil, io.ErrUnexpectedEOF
		}
	}
	if summed {
		want, err := strconv.ParseUint(text, 16, 32)
		if err != nil || text != fmt.Sprintf("%08x", want) {
			return nil, safetensors.Error("the checksum of the data is not eight hexadecimal digits: " + safetensors.Quote(text))
		}
		if got := sumMetadata(ofAll.Sum32(), header.Metadata); got != uint32(want) {
			return nil, safetensors.Error(fmt.Sprintf("the data or the metadata are damaged: their checksum is %08x and should be %08x"+
				" (whoever changes them on purpose leaves %s out)", got, want, ChecksumKey))
		}
		delete(header.Metadata, ChecksumKey)
	}
	again := crc32.New(castagnoli)
	for _, t := range header.Tensors {
		if m, want := wanted[t.Name]; want {
			if err := readData(io.TeeReader(section(t), again), m, decoders[t.DType], buffer); err != nil {
				return nil, fmt.Errorf("the tensors are partly overwritten: %w", err)
			}
		}
	}
	if again.Sum32() != ofWanted.Sum32() {
		return nil, errors.New("the tensors are partly overwritten: the file has changed meanwhile")
	}
	return header.Metadata, nil
}

// onlyReader hides that a reader can do more, which would have io.CopyBuffer do without the buffer.
type onlyReader struct{ io.Reader }

// match reports a file that does not hold the tensors that are wanted, or others if it is to hold no more.
func match(tensors []safetensors.Tensor, wanted map[string]rowvec.Matrix, all bool) error {
	held := make(map[string]bool, len(wanted))
	for _, t := range tensors {
		m, ok := wanted[t.Name]
		switch {
		case !ok && !all:
			continue
		case !ok:
			return safetensors.Error("it holds tensor " + safetensors.Quote(t.Name) + " that is not asked for: see LoadSome")
		case decoders[t.DType].size == 0:
			return safetensors.Error("tensor " + safetensors.Quote(t.Name) + " has dtype " + t.DType + " and not F32, BF16 or F16")
		case !fits(t.Shape, m):
			return safetensors.Error(fmt.Sprintf("tensor %s has shape %s and not [%d, %d]",
				safetensors.Quote(t.Name), safetensors.FormatShape(t.Shape), m.Rows, m.Cols))
		}
		held[t.Name] = true
	}
	if len(held) == len(wanted) {
		return nil
	}
	missing := ""
	for name := range wanted {
		if !held[name] && (missing == "" || name < missing) {
			missing = name
		}
	}
	return safetensors.Error("it holds no tensor " + safetensors.Quote(missing))
}

// fits reports whether a tensor of this shape can be had as m.
func fits(shape []int64, m rowvec.Matrix) bool {
	rows, cols := int64(m.Rows), int64(m.Cols)
	for len(shape) > 2 && shape[0] == 1 {
		shape = shape[1:]
	}
	switch len(shape) {
	case 2:
		return shape[0] == rows && shape[1] == cols
	case 1:
		return cols == 1 && shape[0] == rows || rows == 1 && shape[0] == cols
	case 0:
		return rows == 1 && cols == 1
	}
	return false
}

// decoder is what Load knows of a dtype: the bytes of an element, and how to set elements to as many of them.
type decoder struct {
	size   int
	decode func(dst []float32, src []byte)
}

var decoders = map[string]decoder{
	"F32": {4, func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}},
	"BF16": {2, func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	}},
	"F16": {2, func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = fromHalf(binary.LittleEndian.Uint16(src[2*i:]))
		}
	}},
}

// fromHalf returns the number that the 16 bits of IEEE 754's binary16 stand for.
func fromHalf(half uint16) float32 {
	sign, exponent, fraction := uint32(half>>15)<<31, uint32(half>>10&31), uint32(half&1023)
	switch exponent {
	case 0: // subnormal
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31: // infinite or NaN
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent-15+127)<<23 | fraction<<13)
}

// readData sets a matrix to what r holds, a piece of the size of buffer at a time: a multiple of the size of an element of any dtype.
func readData(r io.Reader, m rowvec.Matrix, d decoder, buffer []byte) error {
	left := int64(rowsIn(m)) * int64(m.Cols) * int64(d.size)
	var piece []byte
	for i := range rowsIn(m) {
		for row := m.Row(i); len(row) > 0; {
			if len(piece) == 0 {
				piece = buffer[:min(left, int64(len(buffer)))]
				left -= int64(len(piece))
				if _, err := io.ReadFull(r, piece); err != nil {
					return err
				}
			}
			n := min(len(row), len(piece)/d.size)
			d.decode(row[:n], piece)
			row, piece = row[n:], piece[n*d.size:]
		}
	}
	return nil
}
