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

// Halves reports whether the processor has AVX-512 and does each vector in two halves, as a Zen 4 does, whose registers are as
// wide as its vectors but whose paths of data are half as wide. What tuning does differently there is not about widths alone.
func Halves() bool {
	return cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family == 0x19 && cpuid.CPU.Supports(cpuid.AVX512F)
}
