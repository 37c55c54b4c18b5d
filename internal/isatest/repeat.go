package isatest

// Period is how many elements of a long slice tests make up, and Repeat the others from: no multiple of anything. To make more takes longer
// than most of what is tried with them.
const Period = 10007

// Repeat has what lies behind the first Period elements repeat these.
func Repeat(x []float32) {
	for n := Period; n < len(x); n *= 2 {
		copy(x[n:], x[:n])
	}
}
