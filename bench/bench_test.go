package main

import (
	"testing"

	"github.com/rowvec/rowvec/internal/isa"
)

func BenchmarkCheckIDs(b *testing.B)       { benchmark(b, "CheckIDs") }
func BenchmarkGather(b *testing.B)         { benchmark(b, "Gather") }
func BenchmarkGatherScaled(b *testing.B)   { benchmark(b, "GatherScaled") }
func BenchmarkScatterAdd(b *testing.B)     { benchmark(b, "ScatterAdd") }
func BenchmarkEmbed(b *testing.B)          { benchmark(b, "Embed") }
func BenchmarkEmbedBackward(b *testing.B)  { benchmark(b, "EmbedBackward") }
func BenchmarkAddBatches(b *testing.B)     { benchmark(b, "AddBatches") }
func BenchmarkAddScaled(b *testing.B)      { benchmark(b, "AddScaled") }
func BenchmarkAdd(b *testing.B)            { benchmark(b, "Add") }
func BenchmarkScale(b *testing.B)          { benchmark(b, "Scale") }
func BenchmarkSinusoids(b *testing.B)      { benchmark(b, "Sinusoids") }
func BenchmarkBagSum(b *testing.B)         { benchmark(b, "BagSum") }
func BenchmarkBagSumWeighted(b *testing.B) { benchmark(b, "BagSumWeighted") }
func BenchmarkBagMean(b *testing.B)        { benchmark(b, "BagMean") }
func BenchmarkBagMax(b *testing.B)         { benchmark(b, "BagMax") }
func BenchmarkBackwardSparse(b *testing.B) { benchmark(b, "BackwardSparse") }
func BenchmarkStepSGD(b *testing.B)        { benchmark(b, "StepSGD") }
func BenchmarkStepRowAdagrad(b *testing.B) { benchmark(b, "StepRowAdagrad") }
func BenchmarkStepAdagrad(b *testing.B)    { benchmark(b, "StepAdagrad") }
func BenchmarkStepAdam(b *testing.B)       { benchmark(b, "StepAdam") }

func BenchmarkUpdateSGD(b *testing.B)        { benchmark(b, "UpdateSGD") }
func BenchmarkUpdateRowAdagrad(b *testing.B) { benchmark(b, "UpdateRowAdagrad") }
func BenchmarkUpdateAdagrad(b *testing.B)    { benchmark(b, "UpdateAdagrad") }
func BenchmarkUpdateAdam(b *testing.B)       { benchmark(b, "UpdateAdam") }
func BenchmarkDropout(b *testing.B)          { benchmark(b, "Dropout") }
func BenchmarkEmbedDropout(b *testing.B)     { benchmark(b, "EmbedDropout") }
func BenchmarkDots(b *testing.B)             { benchmark(b, "Dots") }

func BenchmarkLayerNorm(b *testing.B)         { benchmark(b, "LayerNorm") }
func BenchmarkLayerNormBackward(b *testing.B) { benchmark(b, "LayerNormBackward") }

// The memory of all benchmarks, and what makes their results count as used.
var (
	shared arena
	sink   float32
)

// benchmark runs all contenders of a kernel on each of its shapes, next to each other. Their names pivot in benchstat:
//
//	go test -bench Gather -count 6 -timeout 0 ./bench | benchstat -col /impl -
func benchmark(b *testing.B, name string) {
	k := kernelNamed(b, name)
	for _, s := range cases[name] {
		var m *memory // made when a contender runs: -bench may choose none
		for i, c := range k.contenders(&memory{}) {
			b.Run("impl="+c.name+"/"+s.String(), func(b *testing.B) {
				if m == nil {
					m = shared.memory(k, s)
				}
				c := k.contenders(m)[i]
				defer isa.Set(c.level)()
				b.SetBytes(int64(m.bytes))
				b.ReportAllocs()
				b.ResetTimer()
				c.run(0, b.N)
				b.StopTimer()
				for _, x := range [][]float32{m.table.Data, m.rows.Data, m.positions.Data, m.y, m.to} {
					if len(x) > 0 {
						sink += x[len(x)-1]
					}
				}
			})
		}
	}
}

func kernelNamed(tb testing.TB, name string) *kernel {
	k := kernelOf(name)
	if k == nil {
		tb.Fatalf("no kernel %q", name)
	}
	return k
}
