package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// work does something and returns how long that took.
type work func() (time.Duration, error)

// timed is f, all of it measured.
func timed(f func() error) work {
	return func() (time.Duration, error) {
		begin := time.Now()
		err := f()
		return time.Since(begin), err
	}
}

// measure does each work once per round and returns the seconds that took, by work and round. Each round has
// an order of its own, so that nobody always comes after the same neighbour.
func measure(rounds int, works []work, step func()) ([][]float64, error) {
	seconds := make([][]float64, len(works))
	rng := rand.New(rand.NewPCG(1, 1))
	for range rounds {
		for _, i := range rng.Perm(len(works)) {
			took, err := works[i]()
			if err != nil {
				return nil, err
			}
			seconds[i] = append(seconds[i], took.Seconds())
			step()
		}
	}
	return seconds, nil
}

// median returns the middle one, or the upper of the two in the middle.
func median(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[len(sorted)/2]
}

// ratio returns the median over rounds of a/b within each: how many times faster what took b is than what took a.
func ratio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for r := range a {
		ratios[r] = a[r] / b[r]
	}
	return median(ratios)
}
