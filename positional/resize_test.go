package positional

import "testing"

func resize(t testing.TB, from, to int) *Resize {
	t.Helper()
	r, err := NewResize(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
