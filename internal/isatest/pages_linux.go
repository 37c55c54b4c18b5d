package isatest

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// regions is where the system says what it has found: a variable of the program, which stays where it is.
var regions [64]struct{ start, end, _ uint64 }

// HugeBytes returns how much of data is in huge pages. It skips the test on systems that do not say: Linux does since 6.7.
func HugeBytes(tb testing.TB, data []float32) (n int) {
	tb.Helper()
	if Slow {
		tb.Skip("an emulator keeps its own pages")
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		tb.Skip(err)
	}
	defer f.Close()
	const (
		scanPages = 0xc0606610 // PAGEMAP_SCAN
		isHuge    = 1 << 6     // PAGE_IS_HUGE
	)
	first := uint64(uintptr(unsafe.Pointer(&data[0])))
	end := first + uint64(len(data))*4
	scan := struct {
		size, flags, start, end, walkEnd, regions, length, most, inverted, all, some, returned uint64
	}{
		size: 96, start: first &^ 4095, end: (end + 4095) &^ 4095, regions: uint64(uintptr(unsafe.Pointer(&regions))),
		length: uint64(len(regions)), all: isHuge, returned: isHuge,
	}
	for fd := f.Fd(); scan.start < scan.end; scan.start = scan.walkEnd {
		found, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, scanPages, uintptr(unsafe.Pointer(&scan)))
		if errno != 0 || scan.walkEnd <= scan.start {
			tb.Skip("the system does not say where huge pages are: ", errno)
		}
		for _, r := range regions[:found] {
			n += int(min(r.end, end) - max(r.start, first))
		}
	}
	runtime.KeepAlive(data)
	return n
}

// UsedMemory leaves Go so many slices of 16 MiB that have been in use, in small pages, to make others from. It skips the test on systems
// where programs need not or cannot ask for huge pages, and where none are left.
func UsedMemory(tb testing.TB, slices int) {
	tb.Helper()
	if modes, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil || !strings.Contains(string(modes), "[madvise]") {
		tb.Skip("this system does not leave it to programs to ask for huge pages")
	}
	const size = 8 << 20
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		tb.Fatal(err)
	}
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	clear(memory)
	huge := HugeBytes(tb, unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), size/4))
	if err := unix.Munmap(memory); err != nil {
		tb.Fatal(err)
	}
	if huge < size/2 {
		tb.Skip("the system has hardly a huge page left")
	}
	all := make([][]float32, slices)
	for i := range all {
		all[i] = make([]float32, 4<<20)
		for j := 0; j < len(all[i]); j += 1024 {
			all[i][j] = 1
		}
	}
	runtime.KeepAlive(all)
	all = nil
	runtime.GC()
}
