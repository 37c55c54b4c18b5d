//go:build unix

package rowvec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// BenchmarkStretch measures how long a goroutine can be in assembly, where nothing can stop it: of each kernel, calls of as
// much as one call of assembly does at most, in a long row, in rows of 1,024 columns, and in short ones about a page apart.
// Nothing is in a cache. It reports medians of each, which are upper bounds: there is in them what Go checks before, and
// gradients of sums, heads of a rotation and bags of a long row are calls of their own. A single row of dot products in 16 bits
// is left to plain Go.
func BenchmarkStretch(b *testing.B) {
	isatest.Tune(b, &tuning.NearBytes, nearBytes)
	isatest.Tune(b, &tuning.NearColumns, nearColumns)
	isatest.Tune(b, &tuning.LeftToRight, leftToRight)
	m := newMemory(b, 16<<20)
	others := make([]byte, 128<<20)
	for _, level := range isatest.Levels(b) {
		if level == isa.Portable {
			continue // plain Go can be stopped anywhere but in copy
		}
		for _, kernel := range idTables[0] {
			most, rows, short := kernel.piece, kernel.piece, 1024
			if strings.Contains(kernel.name, "LayerNorm") {
				rows /= 2
			}
			if rows < 64<<10 || strings.Contains(kernel.name, "Dropout") || strings.HasPrefix(kernel.name, "Rotate") {
				short = 256
			}
			shapes := []struct {
				unit string
				extent
			}{
				{"us/long-row", extent{dim: most, n: 1, rows: 1, seq: 1, queries: 1}},
				{"us/rows", extent{dim: 1024, n: rows >> 10, rows: rows >> 10, seq: rows >> 10, queries: 4}},
				{"us/short-rows", extent{dim: 16, gap: 1000, n: short, rows: short, seq: short, queries: 4}},
			}
			b.Run(fmt.Sprintf("isa=%v/kernel=%s", level, strings.ReplaceAll(kernel.name, " ", "-")), func(b *testing.B) {
				defer isa.Set(level)()
				for _, s := range shapes {
					m.arguments, m.tables = m.arguments[:0], 0
					call := kernel.place(m, s.extent)
					var times []time.Duration
					for range b.N {
						for i := 0; i < len(others); i += 64 {
							others[i]++
						}
						begin := time.Now()
						err := call.run()
						times = append(times, time.Since(begin))
						if err != nil {
							b.Fatal(err)
						}
					}
					slices.Sort(times)
					b.ReportMetric(float64(times[len(times)/2])/1e3, s.unit)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
