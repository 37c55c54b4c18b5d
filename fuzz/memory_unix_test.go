//go:build unix

package fuzz

import (
	"testing"

	"github.com/rowvec/rowvec/internal/guard"
)

// region is memory between two inaccessible pages.
type region struct{ *guard.Region }

func newRegion(tb testing.TB, n int) region { return region{guard.New(tb, 4*n)} }

// slice returns n elements flush against the page behind the region, or against the one in front of it.
func (r region) slice(n int, tail bool) []float32 {
	if tail {
		return guard.Tail[float32](r.Region, n)
	}
	return guard.Head[float32](r.Region, n)
}
