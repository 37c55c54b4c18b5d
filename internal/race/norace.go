//go:build !race

// Package race tells tests whether the race detector is on.
package race

// Enabled is true where the race detector is on.
const Enabled = false
