//go:build !race

// Package race tells tests whether the race detector is on, and tells the detector what assembly reads and writes, of
// which it sees nothing by itself. Where it is off, there is nothing of all this in a program.
package race

import "github.com/rowvec/rowvec/kernels"

// Enabled is true where the race detector is on.
const Enabled = false

// Read says that n elements are read, of which p is the first.
func Read[T any](p *T, n int) {}

// Write says that they are written.
func Write[T any](p *T, n int) {}

// ReadMatrix says that the rows of m are read, and not what lies between them.
func ReadMatrix(m *kernels.Matrix) {}

// WriteMatrix says that they are written.
func WriteMatrix(m *kernels.Matrix) {}

// ReadRange says that n rows of m are read, from first on.
func ReadRange(m *kernels.Matrix, first, n int) {}

// ReadRows says that the rows of m that ids choose are read, and ids themselves.
func ReadRows[I kernels.ID](m *kernels.Matrix, ids []I) {}

// WriteRows says that those rows are written, and ids read.
func WriteRows[I kernels.ID](m *kernels.Matrix, ids []I) {}

// ReadHeads says that the first n elements of each head of each row of m are read.
func ReadHeads(m *kernels.Matrix, heads, n int) {}

// WriteHeads says that they are written.
func WriteHeads(m *kernels.Matrix, heads, n int) {}
