// Package trace says what a call prefetches, which nothing that it computes depends on: the thread that does it stops at each
// prefetch. It is for tests.
package trace

import "errors"

// ErrRefused says that the system does not let one process trace another, or that functions are not where the file of the program has them.
var ErrRefused = errors.New("trace: refused")
