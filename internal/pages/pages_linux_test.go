package pages_test

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/pages"
)

const size = 16 << 20 // bytes

// TestUsed comes first, before Go has memory in huge pages: memory that has been in use is gathered in huge pages, with what is in it.
func TestUsed(t *testing.T) {
	isatest.UsedMemory(t, 12)
	data := make([]float32, size/4)
	for i := range data {
		data[i] = float32(i)
	}
	if got := isatest.HugeBytes(t, data); got > size/4 {
		t.Skipf("%d bytes are in huge pages without advice", got)
	}
	pages.Advise(data)
	if got := isatest.HugeBytes(t, data); got < size/2 {
		t.Errorf("%d of %d bytes are in huge pages", got, size)
	}
	for i, x := range data {
		if x != float32(i) {
			t.Fatalf("element %d is %v", i, x)
		}
	}
}

// TestFresh: what is written to behind the advice is in huge pages, and what is not does not come into memory.
func TestFresh(t *testing.T) {
	isatest.UsedMemory(t, 0)
	memory, err := unix.Mmap(-1, 0, 4*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	}()
	data := unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), size)
	pages.Advise(data)
	if got := isatest.HugeBytes(t, data); got > 0 {
		t.Errorf("%d bytes are in memory that nobody has written to", got)
	}
	for i := range data[:size/4] {
		data[i] = 1
	}
	if got := isatest.HugeBytes(t, data); got < size/2 || got > 2*size {
		t.Errorf("%d bytes are in huge pages where %d have been written to", got, size)
	}
}

// TestSmall: slices without a whole huge page inside are left alone, and none is too small.
func TestSmall(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1 << 18, 1 << 19} {
		pages.Advise(make([]float32, n))
	}
}
