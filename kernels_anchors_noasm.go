//go:build purego || !amd64

package rowvec

import "github.com/rowvec/rowvec/internal/exact"

func anchors(w exact.Waves, x, y []float64, pos uint64) { w.Anchors(x, y, pos) }
