//go:build unix

// Package guard makes slices that lie flush against inaccessible pages, so that a test faults where assembly reads or
// writes a byte too many.
package guard

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Region is memory between two inaccessible pages.
type Region struct{ body []byte }

// New returns a region for at least n bytes, which lasts until the test ends.
func New(tb testing.TB, n int) *Region {
	tb.Helper()
	page := unix.Getpagesize()
	size := (max(n, 1) + page - 1) &^ (page - 1)
	all, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		tb.Fatal("guard: mmap: ", err)
	}
	tb.Cleanup(func() { unix.Munmap(all) })
	for _, fence := range [][]byte{all[:page], all[page+size:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			tb.Fatal("guard: mprotect: ", err)
		}
	}
	return &Region{all[page : page+size]}
}

// Head returns n elements that begin where the region does: reading before them faults.
func Head[T any](r *Region, n int) []T { return slice[T](r, 0, n) }

// Tail returns n elements that end where the region does: reading behind them faults.
func Tail[T any](r *Region, n int) []T {
	var t T
	return slice[T](r, len(r.body)-n*int(unsafe.Sizeof(t)), n)
}

func slice[T any](r *Region, first, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	_ = r.body[first : first+n*int(unsafe.Sizeof(t))]
	return unsafe.Slice((*T)(unsafe.Pointer(&r.body[first])), n)
}
