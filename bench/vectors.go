package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/safetensors"
	"github.com/rowvec/rowvec/lookup"
)

// trained is what a file of vectors holds: tables with a row for each name, and where they come from.
type trained struct {
	names   []string
	tensors []lookup.Parameter
	origin  origin
}

// The tensors that train saves. Of files from elsewhere, the first is enough.
const (
	vectorsName  = "vectors" // of units as centres
	contextsName = "contexts"
	sumSuffix    = ".sum" // of squares of gradients: the state of Adagrad
)

// The keys of the metadata.
const (
	namesKey  = "rowvec.names"  // a list in JSON
	originKey = "rowvec.origin" // in JSON too
)

// origin is all that the vectors depend on, and how far the training has come.
type origin struct {
	Text     string `json:"text"`
	Checksum string `json:"checksum"` // of its units
	Units    units  `json:"units"`
	Least    int    `json:"least"` // occurrences of a unit
	Dim      int    `json:"dim"`
	Window   int    `json:"window"`
	Seed     uint64 `json:"seed"`
	Passes   int    `json:"passes"`
	Steps    int    `json:"steps"` // that have been taken
	Complete bool   `json:"complete"`
}

func (t *trained) save(path string) error {
	names, err := json.Marshal(t.names)
	if err != nil {
		return err
	}
	from, err := json.Marshal(t.origin)
	if err != nil {
		return err
	}
	return lookup.Save(path, t.tensors, map[string]string{namesKey: string(names), originKey: string(from), "format": "pt"})
}

// tensor returns the matrix with a name.
func (t *trained) tensor(name string) (rowvec.Matrix, bool) {
	i := slices.IndexFunc(t.tensors, func(p lookup.Parameter) bool { return p.Name == name })
	if i < 0 {
		return rowvec.Matrix{}, false
	}
	return t.tensors[i].Value, true
}

// loadTrained reads a file of vectors, all of it checked.
func loadTrained(path string) (*trained, error) {
	problem := func(format string, args ...any) error {
		return &lookup.FormatError{Path: path, Problem: fmt.Sprintf(format, args...)}
	}
	header, err := readHeader(path)
	if invalid := safetensors.Error(""); errors.As(err, &invalid) {
		return nil, problem("%s", string(invalid))
	}
	if err != nil {
		return nil, err
	}
	t := &trained{}
	for _, x := range header.Tensors {
		if len(x.Shape) != 2 || x.DType != "F32" { // train writes no others
			return nil, problem("tensor %q is no table of F32", x.Name)
		}
		t.tensors = append(t.tensors, lookup.Parameter{Name: x.Name, Value: newMatrix(int(x.Shape[0]), int(x.Shape[1]))})
	}
	table, ok := t.tensor(vectorsName)
	if !ok {
		return nil, problem("it holds no tensor %q; train writes one", vectorsName)
	}
	metadata, err := lookup.Load(path, t.tensors)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(metadata[namesKey]), &t.names); err != nil {
		return nil, problem("its metadata have no list of names under %s", namesKey)
	}
	if len(t.names) != table.Rows || table.Rows == 0 || table.Cols == 0 {
		return nil, problem("it holds %d names for a table of shape [%d, %d]", len(t.names), table.Rows, table.Cols)
	}
	for i, name := range t.names {
		if slices.ContainsFunc(table.Row(i), func(x float32) bool { return x-x != 0 }) {
			return nil, problem("the vector of %q is not finite", name)
		}
	}
	if from, has := metadata[originKey]; has {
		if err := json.Unmarshal([]byte(from), &t.origin); err != nil {
			return nil, problem("the origin in its metadata is not to be read: %v", err)
		}
	}
	return t, nil
}

// readHeader checks that the file is as long as its tensors are, so that a header can't ask for more memory than that.
func readHeader(path string) (*safetensors.Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return safetensors.Read(f, info.Size())
}

// finder searches the vectors of some units.
type finder struct {
	rows []int // of the table; their places are what is searched
	*lookup.Similarity
}

// newFinder returns a finder for rows of a table, or for all of them if rows is nil.
func newFinder(table rowvec.Matrix, rows []int, workers int) (*finder, error) {
	if rows != nil {
		some := newMatrix(len(rows), table.Cols)
		if err := rowvec.Gather(some, table, rows); err != nil {
			return nil, err
		}
		table = some
	}
	e, err := lookup.FromMatrix(table, lookup.Workers(workers))
	if err != nil {
		return nil, err
	}
	s, err := lookup.NewSimilarity(e, lookup.Cosine)
	return &finder{rows, s}, err
}

// nearest returns the n nearest to each of some places, themselves not among them.
func (f *finder) nearest(places []int, n int) (*lookup.Neighbours, error) {
	found, err := lookup.NewNeighbours(len(places), n)
	if err != nil {
		return nil, err
	}
	return found, f.NearestTo(found, lookup.Batch(places, 1))
}
