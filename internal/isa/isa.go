// Package isa knows which instruction set the kernels run on: what the machine has, what ROWVEC_ISA lowers it to, and
// what a test sets it to for a while.
package isa

import (
	"os"
	"strings"
)

// Level is an instruction set that there are kernels for. Levels of one architecture are ordered.
type Level uint8

const (
	Portable Level = iota // plain Go
	NEON                  // arm64
	AVX2                  // amd64 with AVX2
	AVX512                // amd64 with AVX-512 F, BW, DQ and VL
)

var names = [...]string{Portable: "portable", NEON: "neon", AVX2: "avx2", AVX512: "avx512"}

// String returns the name of the level as ROWVEC_ISA spells it.
func (l Level) String() string { return names[l] }

// Available lists the levels that this machine and build have, from portable up.
var Available = append([]Level{Portable}, detect()...)

// active is read on every call of a kernel and written before main runs and by tests only.
var active = lowered(Available[len(Available)-1], os.Getenv("ROWVEC_ISA"))

// Active returns the level that kernels run on.
func Active() Level { return active }

// lowered returns the level called name if best includes it, and best otherwise: a wish can lower the level but never
// raise it, and an unknown name is no wish. Capital letters are as good.
func lowered(best Level, name string) Level {
	for _, l := range Available {
		if strings.EqualFold(l.String(), name) && l < best {
			return l
		}
	}
	return best
}

// Set makes level the active one, while no kernel runs, and returns the function that undoes it.
// It panics if the machine does not have the level.
func Set(level Level) (undo func()) {
	for _, l := range Available {
		if l == level {
			before := active
			active = level
			return func() { active = before }
		}
	}
	panic("isa: this machine has no level " + level.String())
}

// Named returns the level called name; ok is false for an unknown name.
func Named(name string) (level Level, ok bool) {
	for l, n := range names {
		if n == name {
			return Level(l), true
		}
	}
	return 0, false
}
