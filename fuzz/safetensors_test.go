package fuzz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/safetensors"
	"github.com/rowvec/rowvec/lookup"
)

// FuzzSafetensors takes any bytes for a checkpoint. What loads comes back from another file; what does not is an error
// that changes nothing; and neither takes much more memory than the file has bytes.
func FuzzSafetensors(f *testing.F) {
	add := func(header string, data int) {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		f.Add(append(append(b, header...), bytes.Repeat([]byte{1, 0, 0x80, 0x7f}, data/4)...))
	}
	f.Add([]byte{})
	add(`{}`, 0)
	add(`{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},"__metadata__":{"step":"7"},"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  `, 28)
	add(`{"__metadata__":{"rowvec.crc32c":"c330f24e"},"v":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}`, 12)
	add(`{"__metadata__":{"rowvec.src32c":"c330f24e"},"v":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}`, 12)
	add(`{"e":{"dtype":"F32","shape":[9223372036854775807,0],"data_offsets":[0,0]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 4)
	add(`{"h":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[12,16]}}`, 16)
	add(`{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}}`, 8)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		header, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; spent > uint64(64<<10+200*len(b)) {
			t.Fatalf("%d bytes for a file of %d", spent, len(b))
		}
		if err != nil {
			if invalid := safetensors.Error(""); !errors.As(err, &invalid) {
				t.Fatal(err)
			}
			return
		}
		var tensors []lookup.Parameter
		loads, exact := true, true
		for _, s := range header.Tensors {
			rows, cols := 1, 1
			switch len(s.Shape) {
			case 2:
				rows, cols = int(s.Shape[0]), int(s.Shape[1])
			case 1:
				rows = int(s.Shape[0])
			}
			if uint64(rows) > math.MaxInt || len(s.Shape) == 2 && (int64(rows) != s.Shape[0] || int64(cols) != s.Shape[1]) {
				return // 32 bits
			}
			m := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + 1}
			if rows > 0 && cols > 0 {
				if rows > len(b) || cols > len(b) || rows*cols > len(b) { // of another type or more dimensions
					return
				}
				m.Data = make([]float32, rows*m.Stride)
				for i := range m.Data {
					m.Data[i] = canaries[0]
				}
			}
			loads = loads && slices.Contains([]string{"F32", "BF16", "F16"}, s.DType) && len(s.Shape) <= 2
			exact = exact && s.DType == "F32"
			tensors = append(tensors, lookup.Parameter{Name: s.Name, Value: m})
		}
		_, summed := header.Metadata[lookup.ChecksumKey]
		taken := slices.ContainsFunc(slices.Collect(maps.Keys(header.Metadata)), nearlyChecksumKey)
		loads = loads && (summed || !taken)
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		metadata, err := lookup.Load(path, tensors)
		if format := (*lookup.FormatError)(nil); err != nil {
			if loads && !summed || !errors.As(err, &format) {
				t.Fatal(err)
			}
			for _, p := range tensors {
				for _, x := range p.Value.Data {
					if x != canaries[0] {
						t.Fatalf("%v: tensor %q has changed", err, p.Name)
					}
				}
			}
			return
		}
		if !loads {
			t.Fatal("no error")
		}
		some := tensors[len(tensors)/2:] // of which Load has the same elements
		whole := make([]rowvec.Matrix, len(some))
		for i := range some {
			whole[i] = some[i].Value
			some[i].Value.Data = make([]float32, len(whole[i].Data))
		}
		_, err = lookup.LoadSome(path, some)
		for i := range some {
			for row := 0; row < whole[i].Rows && whole[i].Cols > 0; row++ {
				if !slices.EqualFunc(some[i].Value.Row(row), whole[i].Row(row), func(x, y float32) bool {
					return math.Float32bits(x) == math.Float32bits(y)
				}) {
					t.Fatalf("tensor %q alone differs in row %d", some[i].Name, row)
				}
			}
			some[i].Value = whole[i]
		}
		held, _, err2 := lookup.Tensors(path)
		if err != nil || err2 != nil || len(held) != len(tensors) {
			t.Fatalf("%d of %d tensors, errors %v, %v", len(held), len(tensors), err, err2)
		}
		if err := lookup.Save(path, tensors, metadata); (err != nil) != taken {
			t.Fatal(err)
		} else if taken {
			return
		}
		again, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		second, err := safetensors.Read(bytes.NewReader(again), int64(len(again)))
		if err != nil || len(second.Tensors) != len(header.Tensors) {
			t.Fatal(second, err)
		}
		delete(header.Metadata, lookup.ChecksumKey)
		delete(second.Metadata, lookup.ChecksumKey)
		if !maps.Equal(header.Metadata, second.Metadata) || !maps.Equal(header.Metadata, metadata) {
			t.Fatalf("metadata %q, then %q, and %q", header.Metadata, second.Metadata, metadata)
		}
		if exact && !bytes.Equal(b[header.Data:], again[second.Data:]) {
			t.Fatal("the data differ")
		}
	})
}

// nearlyChecksumKey reports whether up to four bytes of the key of the checksum, in one place, have become up to four others.
func nearlyChecksumKey(key string) bool {
	const sum = lookup.ChecksumKey
	for at := range len(sum) + 1 {
		for old := range min(4, len(sum)-at) + 1 {
			behind := len(key) - (len(sum) - at - old)
			if behind >= at && behind-at <= 4 && key[:at]+key[behind:] == sum[:at]+sum[at+old:] && key != sum {
				return true
			}
		}
	}
	return false
}
