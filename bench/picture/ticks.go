package picture

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// mostTicks is how many numbers an axis has room for.
const (
	mostTicks   = 7
	mostTicksLo = 5 // of an axis that is short
)

// ticks returns those of an axis from low to high.
func (a *Axis) ticks(low, high float64, most int) []plot.Tick {
	at := a.Ticks
	if at == nil && a.Log {
		at = powers(low, high, most)
	} else if at == nil {
		at = rounds(low, high, most)
	}
	var ticks []plot.Tick
	for _, x := range at {
		ticks = append(ticks, plot.Tick{Value: a.place(x), Label: number(x)})
	}
	return ticks
}

// rounds returns at most so many multiples of 1, 2 or 5 times a power of ten.
func rounds(low, high float64, most int) []float64 {
	for e := math.Floor(math.Log10(high-low)) - 2; ; e++ {
		for _, digit := range []float64{1, 2, 5} {
			step := digit * math.Pow(10, e)
			first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
			if last-first+1 > float64(most) {
				continue
			}
			var all []float64
			for k := first; k <= last; k++ {
				if e < 0 {
					all = append(all, k*digit/math.Pow(10, -e)) // 3/10 is 0.3, and 3*0.1 is not
				} else {
					all = append(all, k*step)
				}
			}
			return all
		}
	}
}

// powers returns at most so many powers of ten, and where there are few, twice and five times them.
func powers(low, high float64, most int) []float64 {
	for _, digits := range [][]float64{{1, 2, 5}, {1, 3}} {
		var all []float64
		for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
			for _, digit := range digits {
				if x := digit * math.Pow(10, e); x >= low*(1-1e-9) && x <= high*(1+1e-9) {
					all = append(all, x)
				}
			}
		}
		if len(all) <= most {
			return all
		}
	}
	first, last := math.Ceil(math.Log10(low)-1e-9), math.Floor(math.Log10(high)+1e-9)
	var all []float64
	for e := first; e <= last; e += max(1, math.Ceil((last-first+1)/float64(most))) {
		all = append(all, math.Pow(10, e))
	}
	return all
}

// number writes 0.25, 1,500, 20k, 3M and 1e-8.
func number(x float64) string {
	switch size := math.Abs(x); {
	case size == 0:
		return "0"
	case size < 1e-3:
		s := strconv.FormatFloat(x, 'e', -1, 64)
		return strings.Replace(s, "e-0", "e-", 1)
	case size >= 1e4:
		unit := ""
		for _, u := range []string{"k", "M", "G", "T"} {
			if math.Abs(x) < 1e3 {
				break
			}
			x, unit = x/1e3, u
		}
		return strconv.FormatFloat(x, 'g', 4, 64) + unit
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if whole, _, _ := strings.Cut(s, "."); len(strings.TrimPrefix(whole, "-")) == 4 {
		s = s[:len(whole)-3] + "," + s[len(whole)-3:]
	}
	return strings.Replace(s, "-", "\u2212", 1)
}
