//go:build race

// Package race tells tests whether the race detector is on, and tells the detector what assembly reads and writes, of
// which it sees nothing by itself. Where it is off, there is nothing of all this in a program.
package race

import (
	"runtime"
	"unsafe"

	"github.com/rowvec/rowvec/kernels"
)

// Enabled is true where the race detector is on.
const Enabled = true

// Read says that n elements are read, of which p is the first.
func Read[T any](p *T, n int) { access(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p)), false) }

// Write says that they are written.
func Write[T any](p *T, n int) { access(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p)), true) }

// ReadMatrix says that the rows of m are read, and not what lies between them.
func ReadMatrix(m *kernels.Matrix) { rows(m, 0, m.Rows, false) }

// WriteMatrix says that they are written.
func WriteMatrix(m *kernels.Matrix) { rows(m, 0, m.Rows, true) }

// ReadRange says that n rows of m are read, from first on.
func ReadRange(m *kernels.Matrix, first, n int) { rows(m, first, n, false) }

// ReadRows says that the rows of m that ids choose are read, and ids themselves.
func ReadRows[I kernels.ID](m *kernels.Matrix, ids []I) { rowsByID(m, ids, false) }

// WriteRows says that those rows are written, and ids read.
func WriteRows[I kernels.ID](m *kernels.Matrix, ids []I) { rowsByID(m, ids, true) }

// ReadHeads says that the first n elements of each head of each row of m are read.
func ReadHeads(m *kernels.Matrix, heads, n int) { parts(m, heads, n, false) }

// WriteHeads says that they are written.
func WriteHeads(m *kernels.Matrix, heads, n int) { parts(m, heads, n, true) }

func rows(m *kernels.Matrix, first, n int, write bool) {
	if m.Cols == m.Stride { // all at once
		first, n = first*m.Cols, n*m.Cols
		if n > 0 {
			access(unsafe.Pointer(&m.Data[first]), n*4, write)
		}
		return
	}
	for i := first; i < first+n; i++ {
		row(m, i, write)
	}
}

// rowsByID reads ids as the compiler announces it. Like a kernel it ends at an id that is out of range by now.
func rowsByID[I kernels.ID](m *kernels.Matrix, ids []I, write bool) {
	for _, id := range ids {
		if uint64(id) >= uint64(m.Rows) {
			return
		}
		row(m, int(id), write)
	}
}

func row(m *kernels.Matrix, i int, write bool) {
	if m.Cols > 0 {
		access(unsafe.Pointer(&m.Data[i*m.Stride]), m.Cols*4, write)
	}
}

func parts(m *kernels.Matrix, heads, n int, write bool) {
	dim := m.Cols / heads
	if n == dim {
		rows(m, 0, m.Rows, write)
		return
	}
	for i := 0; i < m.Rows && n > 0; i++ {
		for h := range heads {
			access(unsafe.Pointer(&m.Data[i*m.Stride+h*dim]), n*4, write)
		}
	}
}

// pieceBytes is what is announced at a time, since the detector is not preempted either.
const pieceBytes = 256 << 10

func access(p unsafe.Pointer, bytes int, write bool) {
	for first := 0; first < bytes; first += pieceBytes {
		n := min(pieceBytes, bytes-first)
		if write {
			runtime.RaceWriteRange(hidden(unsafe.Add(p, first)), n)
		} else {
			runtime.RaceReadRange(hidden(unsafe.Add(p, first)), n)
		}
	}
}

// hidden returns p, of which the compiler shall not know that it is p: it takes it that what it calls here keeps p, and
// would move all arguments of kernels to the heap.
func hidden(p unsafe.Pointer) unsafe.Pointer {
	address := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
