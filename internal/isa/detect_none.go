//go:build purego || (!amd64 && !arm64)

package isa

func detect() []Level { return nil }

// Halves reports whether AVX-512 takes two halves for each vector.
func Halves() bool { return false }

// Intel reports whether the processor is one of Intel's.
func Intel() bool { return false }

// Zen5 reports whether the processor is one of AMD's since Zen 5.
func Zen5() bool { return false }

// SecondLevel returns how many bytes the second-level cache of a core has, or 0 if that is not known.
func SecondLevel() int { return 0 }
