//go:build purego || (!amd64 && !arm64)

package isa

func detect() []Level { return nil }
