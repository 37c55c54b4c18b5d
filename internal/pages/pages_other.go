//go:build !linux

// Package pages asks the system to back large tables with 2 MiB pages. This system has no way to ask.
package pages

// Advise does nothing here.
func Advise(data []float32) {}
