//go:build !unix

package fuzz

import "testing"

// region is ordinary memory: there are no guard pages on this system.
type region struct{}

func newRegion(testing.TB, int) region { return region{} }

func (region) slice(n int, _ bool) []float32 { return make([]float32, n) }
