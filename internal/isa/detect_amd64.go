//go:build amd64 && !purego

package isa

import "github.com/klauspost/cpuid/v2"

// detect asks the processor and, through XCR0, the operating system.
func detect() []Level {
	switch {
	case cpuid.CPU.Supports(cpuid.AVX2, cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL):
		return []Level{AVX2, AVX512}
	case cpuid.CPU.Supports(cpuid.AVX2):
		return []Level{AVX2}
	}
	return nil
}

// Halves reports whether the processor does each vector of AVX-512 in two halves, as a Zen 4 does, whose paths of data are half as
// wide as its registers. All others count as those that do not, of which a Zen 5 and a Xeon are what was measured: none of the later
// cores for laptops was at hand, some of which do so too.
func Halves() bool {
	return cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family == 0x19 && cpuid.CPU.Supports(cpuid.AVX512F)
}

// Intel reports whether the processor is one of Intel's.
func Intel() bool { return cpuid.CPU.VendorID == cpuid.Intel }

// Zen5 reports whether the processor is one of AMD's since Zen 5, with which family 1Ah begins.
func Zen5() bool { return cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family >= 0x1a }

// SecondLevel returns how many bytes the second-level cache of a core has, or no more than 0 if that is not known.
func SecondLevel() int { return cpuid.CPU.Cache.L2 }
