// Package pages asks the system to back large tables with 2 MiB pages.
package pages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	huge         = 2 << 20
	madvCollapse = 25 // MADV_COLLAPSE, since Linux 6.1
)

// Advise asks for huge pages inside data, and gathers in such what is there in small pages already, since Go had it in use before or
// since it has been written to. What has not been touched stays so. Advice is all it is: an error, as from a system without huge pages,
// changes nothing but speed.
func Advise(data []float32) {
	advise(data, unix.MADV_HUGEPAGE)
	advise(data, madvCollapse)
}

// advise applies to the whole huge pages inside data alone, since what lies around it belongs to others.
func advise(data []float32, advice int) {
	if len(data) == 0 {
		return
	}
	first := uintptr(unsafe.Pointer(&data[0]))
	skip := -first & (huge - 1)
	size := uintptr(len(data)) * 4
	if size < skip+huge {
		return
	}
	inside := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&data[0]), skip)), (size-skip)&^(huge-1))
	_ = unix.Madvise(inside, advice)
}
