package kernels

// FirstOutside returns the position of the first id outside [0, rows), or -1 if there is none.
func FirstOutside[I ID](ids []I, rows int) int {
	for i, id := range ids {
		if outside(id, rows) {
			return i
		}
	}
	return -1
}

// outside relies on the conversion of a negative id of any size to a number above every possible count of rows.
func outside[I ID](id I, rows int) bool { return uint64(id) >= uint64(rows) }
