package rowvec

import "unsafe"

// Sinusoids samples a sinusoid in each column of dst, at steps of angle that are equal within a column, as positional
// encodings do: it steps over skip rows, and then sets row after row of dst to x, rounded to float32. A step is
// x[j], y[j] = y[j], c[j]*y[j] - x[j] for each column j, in float64, the product rounded before the difference.
//
// For v(a) = sin(a+b), which with b = pi/2 is a cosine, and rows v(a), v(a+t), v(a+2t), ..., x[j] is v(a), y[j] is v(a+t)
// and c[j] is 2*cos(t). This is the recurrence of Goertzel's algorithm ("An algorithm for the evaluation of finite
// trigonometric series", 1958). After n rows the error is up to about n*n*1e-16 where t is small or near half a turn (1e-11
// after 256); for more rows, compute x and y anew. Afterwards they belong to the row behind the last one of dst, so that a
// following call goes on with it. A row that is stepped over takes the time of one that is set.
//
// x, y and c have dst.Cols elements; the stride of dst is free. Errors: ShapeError, also for a skip below 0; OverlapError
// if two of the four share memory; then all are as they were.
func Sinusoids(dst Matrix, skip int, x, y, c []float64) error {
	if err := checkSinusoids("Sinusoids", &dst, skip, x, y, c); err != nil || dst.Cols == 0 {
		return err
	}
	sinusoids(&dst, skip, x, y, c, large(&dst))
	return nil
}

func checkSinusoids(op string, dst *Matrix, skip int, x, y, c []float64) error {
	if !fits(dst) {
		return CheckMatrix(op, "dst", *dst)
	}
	switch cols := dst.Cols; {
	case skip < 0:
		return &ShapeError{op, "skip", skip, "at least ", 0}
	case len(x) != cols:
		return &ShapeError{op, "len(x)", len(x), "", cols}
	case len(y) != cols:
		return &ShapeError{op, "len(y)", len(y), "", cols}
	case len(c) != cols:
		return &ShapeError{op, "len(c)", len(c), "", cols}
	case cols == 0:
		return nil
	}
	bytes := uintptr(dst.Cols) * 8
	spans := [...]struct {
		name        string
		start, size uintptr
	}{
		{name: "dst"},
		{"x", uintptr(unsafe.Pointer(&x[0])), bytes},
		{"y", uintptr(unsafe.Pointer(&y[0])), bytes},
		{"c", uintptr(unsafe.Pointer(&c[0])), bytes},
	}
	if dst.Rows > 0 {
		spans[0].start, spans[0].size = uintptr(unsafe.Pointer(&dst.Data[0])), uintptr(extent(dst))*4
	}
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			if rangesMeet(a.start, a.size, b.start, b.size) {
				return &OverlapError{op, a.name, b.name}
			}
		}
	}
	return nil
}
