package pages

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// hugeBytes returns how much of the mapping that data begins in is backed by huge pages.
func hugeBytes(t *testing.T, data []float32) int {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	here, total := false, 0
	address := uintptr(unsafe.Pointer(&data[0]))
	end := address + uintptr(len(data))*4
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &lo, &hi); n == 2 {
			here = lo < end && address < hi
		}
		var kib int
		if n, _ := fmt.Sscanf(lines.Text(), "AnonHugePages: %d kB", &kib); n == 1 && here {
			total += kib << 10
		}
	}
	return total
}

func TestAdvise(t *testing.T) {
	modes, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(modes), "[never]") {
		t.Skip("this system has no transparent huge pages")
	}
	if os.Getenv("ROWVEC_EMULATED") != "" {
		t.Skip("an emulator keeps its own pages")
	}
	const size = 64 << 20
	data := make([]float32, size/4)
	Advise(data)
	for i := 0; i < len(data); i += 1024 {
		data[i] = 1
	}
	Collapse(data)
	if got := hugeBytes(t, data); got < size/2 {
		t.Errorf("%d of %d bytes are in huge pages", got, size)
	}
	runtime.KeepAlive(data)
}

// TestSmall: slices without a whole huge page inside are left alone, and none is too small.
func TestSmall(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1 << 18, 1 << 19} {
		data := make([]float32, n)
		Advise(data)
		Collapse(data)
	}
}
