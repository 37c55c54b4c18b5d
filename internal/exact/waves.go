package exact

import "math"

// Waves are sinusoids of a position, of which column j has the angle Frequency[j]*position + Offset[j]. All slices are as
// long, by column; Sin and Twice may be nil.
type Waves struct {
	High, Low []uint64  // of the frequencies, as Turns have them
	Offset    []uint64  // 2^-64 turns: 0 for a sine, Quarter for a cosine
	Sin       []float64 // of the frequencies
	Twice     []float64 // their cosines, times 2
}

// Quarter is a quarter turn as an offset of Waves.
const Quarter = 1 << 62

// Anchors sets x to the sines of the angles at a position, and y to those at the next one: x*cos(f) + y*sin(f), each
// product rounded, where y is the cosine and f the frequency. Without Sin and Twice, it sets y to the cosines.
//
// It is the definition of what package rowvec does by assembly.
func (w *Waves) Anchors(x, y []float64, pos uint64) {
	x, y = x[:len(w.High)], y[:len(w.High)]
	for j, k := 0, 0; j < len(x); j++ { // k is before j, and often the next column of the same frequency
		switch {
		case j > 0 && w.same(j, k):
			x[j], y[j] = quadrant((w.Offset[j]-w.Offset[k])/Quarter, x[k], y[k])
			k++
		case j > 0 && w.same(j, j-1):
			x[j], y[j] = quadrant((w.Offset[j]-w.Offset[j-1])/Quarter, x[j-1], y[j-1])
		default:
			t := Turns{w.High[j], w.Low[j]}.Times(pos)
			t.Hi += w.Offset[j]
			x[j], y[j] = t.SinCos()
		}
	}
	if w.Sin == nil {
		return
	}
	for j, sin := range w.Sin[:len(x)] {
		y[j] = float64(x[j]*(w.Twice[j]/2)) + float64(y[j]*sin)
	}
}

// same reports whether columns j and k are of the same frequency, and quarter turns apart.
func (w *Waves) same(j, k int) bool {
	return w.High[j] == w.High[k] && w.Low[j] == w.Low[k] && (w.Offset[j]-w.Offset[k])%Quarter == 0
}

// What assembly needs to know of Turns.SinCos.
const (
	TurnUnit = 2 * math.Pi / (1 << 64)
	Eighth   = 1 << 61
)
