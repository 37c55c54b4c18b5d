//go:build purego || !amd64

package rowvec

import "github.com/rowvec/rowvec/internal/forward"

func normalises(int) bool { return false }

func normaliseRows(n *forward.Normal) (done int) { return normaliseInSteps(n) }
