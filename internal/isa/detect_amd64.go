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
