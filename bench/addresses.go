package main

import (
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/rowvec/rowvec/internal/pages"
)

// addresses says what it takes to find out where in memory an address is, which processors keep for so many pages: ns that a
// line takes where each tells where the next one is. Rows of a large table each are on a page of their own, and so cost that
// much more, in whatever way they are looked up. Lines on pages of 4 KiB within pages of 2 MiB take hardly longer than lines
// side by side where pages of 2 MiB are what they say. A virtual machine may have them in name only: its host goes by smaller
// ones.
type addresses struct {
	Together float64 `json:"together_ns"`    // lines side by side
	Apart    float64 `json:"apart_ns"`       // each on 4 KiB of its own, in memory that is to be on pages of 2 MiB
	Small    float64 `json:"small_pages_ns"` // the same in memory as Go gets it from the system
}

const (
	addressLines = 8192    // 512 KiB; more than processors know pages
	addressStep  = 4 << 10 // bytes from one to the next where they are apart
	lineWords    = 64 / 4  // of 32 bits in a line
	addressLaps  = 7       // through all of them, of which the quickest counts
)

// measureAddresses takes a quarter of a second.
func measureAddresses() addresses {
	huge := make([]float32, addressLines*addressStep/4)
	pages.Advise(huge)
	words := unsafe.Slice((*uint32)(unsafe.Pointer(&huge[0])), len(huge))
	a := addresses{Together: chase(words, 64), Apart: chase(words, addressStep)}
	a.Small = chase(make([]uint32, len(words)), addressStep)
	return a
}

// chase returns how many ns a line takes of addressLines, step bytes one behind the other, or anywhere in as many.
func chase(memory []uint32, step int) float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	at := make([]uint32, addressLines)
	for i, line := range rng.Perm(addressLines) {
		at[i] = uint32(line*step/4 + rng.IntN(step/64)*lineWords)
	}
	for i, place := range at {
		memory[place] = at[(i+1)%len(at)]
	}
	least, place := time.Duration(1<<62), at[0]
	for range addressLaps {
		start := time.Now()
		for range at {
			place = memory[place]
		}
		least = min(least, time.Since(start))
	}
	if place != at[0] { // which all laps come back to
		panic("bench: lost the way through memory")
	}
	return float64(least.Nanoseconds()) / addressLines
}

// String returns one line.
func (a addresses) String() string {
	return fmt.Sprintf("a line out of 512 KiB: %s ns; each on 4 KiB of its own: %s if on pages of 2 MiB, else %s",
		figure(a.Together), figure(a.Apart), figure(a.Small))
}
