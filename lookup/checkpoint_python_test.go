package lookup_test

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/lookup"
)

// TestCheckpointReference loads files that Python wrote, of all dtypes, and has the bits that Python reads from them. Those that are
// as Save writes them, checksum and all, Save writes to the byte: so Python reads what it writes.
func TestCheckpointReference(t *testing.T) {
	for _, c := range reference.CheckpointCases(t) {
		path := write(t, c.File)
		var tensors []lookup.Parameter
		for _, x := range c.Tensors {
			tensors = append(tensors, lookup.Parameter{Name: x.Name, Value: reference.Zeros(x.Value, 0), Vector: len(x.Shape) == 1})
		}
		metadata, err := lookup.Load(path, tensors)
		if err != nil || !maps.Equal(metadata, c.Metadata) {
			t.Errorf("%s: metadata %q, want %q, error %v", c.Name, metadata, c.Metadata, err)
		}
		held, _, err := lookup.Tensors(path)
		if err != nil || len(held) != len(c.Tensors) {
			t.Fatalf("%s: %d tensors, want %d, error %v", c.Name, len(held), len(c.Tensors), err)
		}
		for i, x := range c.Tensors {
			if held[i].Name != x.Name || held[i].DType != x.DType || !slices.Equal(held[i].Shape, x.Shape) {
				t.Errorf("%s: tensor %d is %v, want %s, %s, %v", c.Name, i, held[i], x.Name, x.DType, x.Shape)
			}
			reference.Identical(t, c.Name+": "+x.Name, tensors[i].Value, x.Value)
		}
		if !c.Saved {
			continue
		}
		if got, err := os.ReadFile(save(t, tensors, metadata)); err != nil || !bytes.Equal(got, c.File) {
			t.Errorf("%s: %v\n%q, want\n%q", c.Name, err, got, c.File)
		}
	}
}
