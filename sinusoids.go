package rowvec

import "unsafe"

// Sinusoids samples a sinusoid in each column of dst, at steps of angle that are equal within a column, as positional
// encodings do: it steps over skip rows, and then sets row after row of dst to x, rounded to float32. A step is
// x[j] += d[j] and then d[j] -= s[j]*x[j] for each column j, in float64, the product rounded before the difference.
//
// For v(a) = sin(a+b), which with b = pi/2 is a cosine, and rows v(a), v(a+t), v(a+2t), ..., x[j] is v(a), d[j] is
// v(a+t) - v(a) = v(a+pi/2)*sin(t) - v(a)*s[j]/2, and s[j] is 4*sin(t/2)^2. This is Goertzel's recurrence in the form of
// Reinsch (Stoer and Bulirsch, Introduction to Numerical Analysis, section 2.3.3), whose error grows by about 1e-16 for
// each row, also where t is small. Afterwards x and d belong to the row behind the last one of dst, so that a following
// call goes on with it.
//
// x, d and s have dst.Cols elements; the stride of dst is free. Errors: ShapeError, also for a skip below 0; OverlapError
// if two of the four share memory; then all are as they were.
func Sinusoids(dst Matrix, skip int, x, d, s []float64) error {
	if err := checkSinusoids("Sinusoids", &dst, skip, x, d, s); err != nil || dst.Cols == 0 {
		return err
	}
	sinusoids(&dst, skip, x, d, s)
	return nil
}

func checkSinusoids(op string, dst *Matrix, skip int, x, d, s []float64) error {
	if !fits(dst) {
		return CheckMatrix(op, "dst", *dst)
	}
	switch cols := dst.Cols; {
	case skip < 0:
		return &ShapeError{op, "skip", skip, "at least ", 0}
	case len(x) != cols:
		return &ShapeError{op, "len(x)", len(x), "", cols}
	case len(d) != cols:
		return &ShapeError{op, "len(d)", len(d), "", cols}
	case len(s) != cols:
		return &ShapeError{op, "len(s)", len(s), "", cols}
	case cols == 0:
		return nil
	}
	bytes := uintptr(dst.Cols) * 8
	xs, ds, ss := uintptr(unsafe.Pointer(&x[0])), uintptr(unsafe.Pointer(&d[0])), uintptr(unsafe.Pointer(&s[0]))
	switch {
	case rangesMeet(xs, bytes, ds, bytes):
		return &OverlapError{op, "x", "d"}
	case rangesMeet(xs, bytes, ss, bytes):
		return &OverlapError{op, "x", "s"}
	case rangesMeet(ds, bytes, ss, bytes):
		return &OverlapError{op, "d", "s"}
	case dst.Rows == 0:
		return nil
	}
	start, size := uintptr(unsafe.Pointer(&dst.Data[0])), uintptr(extent(dst))*4
	switch {
	case rangesMeet(start, size, xs, bytes):
		return &OverlapError{op, "dst", "x"}
	case rangesMeet(start, size, ds, bytes):
		return &OverlapError{op, "dst", "d"}
	case rangesMeet(start, size, ss, bytes):
		return &OverlapError{op, "dst", "s"}
	}
	return nil
}
