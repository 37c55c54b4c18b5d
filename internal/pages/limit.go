//go:build !wasm && !ios

package pages

import "math"

// MaxBytes is the size of the largest slice that Go can be asked for: 128 TiB where addresses have 64 bits.
const MaxBytes = min(math.MaxInt, 1<<47)
