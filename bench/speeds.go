package main

import (
	"math"
	"runtime"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// speed is how many tokens per second one side embeds, by dim.
type speed struct {
	side     string
	tokensPS []float64
}

const (
	speedRounds = 9
	speedTokens = 16 << 10 // of the text
)

// speedDims returns those that are measured.
func speedDims(quick bool) []int {
	if quick {
		return []int{16, 64, 256}
	}
	return []int{16, 32, 64, 128, 256, 512, 1024}
}

// measureSpeeds embeds a part of the text forward, with learned positions, by naive Go and at every level of this machine.
// All dims use the same memory.
func measureSpeeds(ids []uint, dims []int, workers int, step func()) ([]speed, error) {
	ids = ids[:min(len(ids), speedTokens)]
	widest := dims[len(dims)-1]
	weights, out := make([]float32, vocab*widest), make([]float32, len(ids)*widest)
	for i := range weights {
		weights[i] = float32(i&1023) / 1024
	}
	all := []speed{{side: "naive Go"}}
	for _, level := range isa.Available {
		all = append(all, speed{side: level.String()})
	}
	for _, dim := range dims {
		table := rowvec.Matrix{Rows: vocab, Cols: dim, Data: weights[:vocab*dim], Stride: dim}
		dst := rowvec.Matrix{Rows: len(ids), Cols: dim, Data: out[:len(ids)*dim], Stride: dim}
		tokens, err := lookup.FromMatrix(table, lookup.Scaled(), lookup.Workers(workers))
		if err != nil {
			return nil, err
		}
		positions, err := positional.NewLearned(seq, dim, 2)
		if err != nil {
			return nil, err
		}
		layer, err := lookup.NewLayer(tokens, positions)
		if err != nil {
			return nil, err
		}
		in := lookup.Batch(ids, seq)
		if len(ids)%seq != 0 {
			in = batches(ids, len(ids))[0].in
		}
		calls := max(1, 512/dim) // of one measurement: a short one would show interrupts
		repeat := func(f func() error) work { return repeated(0, calls, f) }
		factor := float32(math.Sqrt(float64(dim)))
		works := []work{repeat(func() error {
			naiveEmbed(dst.Data, table.Data, ids, dim, factor, positions.Table().Data, seq)
			return nil
		})}
		for _, level := range isa.Available {
			works = append(works, repeat(func() error {
				defer isa.Set(level)()
				return layer.Forward(dst, in)
			}))
		}
		runtime.GC()
		seconds, err := measure(speedRounds, works, step)
		if err != nil {
			return nil, err
		}
		naive := float64(calls*len(ids)) / median(seconds[0])
		for i := range all { // by ratios within rounds: what else the machine does slows all sides of a round
			all[i].tokensPS = append(all[i].tokensPS, naive*ratio(seconds[0], seconds[i]))
		}
	}
	return all, nil
}

// copyLimit returns how many tokens per second of this dim a copy would get through that moves as many bytes: those of an
// id, of the rows of the token and of its position, and of the output.
func copyLimit(gbs float64, dim int) float64 { return gbs * 1e9 / float64(idBytes+3*4*dim) }
