//go:build purego || (!amd64 && !arm64)

package rowvec

func addProduct(dst, a, src Matrix, transposed bool, _ Matrix) {
	addProductPlain(dst, a, src, transposed)
}
