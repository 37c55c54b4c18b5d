package rowvec

import "fmt"

// IndexError reports an id that names no row. Nothing was written.
type IndexError struct {
	What     string // "id", "position id" or "type id"
	Position int    // where in the ids it stands
	Index    any    // its value: an int64, or a uint64 above the largest int64
	Rows     int    // valid ids are those in [0, Rows)
}

// Error names the position, the value and the valid range.
func (e *IndexError) Error() string {
	return fmt.Sprintf("rowvec: %s %d at position %d is outside [0, %d)", e.What, e.Index, e.Position, e.Rows)
}

// ShapeError reports a size, length or option that does not fit the rest of the call. Nothing was written.
type ShapeError struct {
	Op   string // the function, such as "Gather" or "lookup.Layer.Forward"
	What string // what does not fit, such as "dst.Cols"
	Got  int    // its value
	Rule string // how Want is meant: "" for exactly, or "at least ", "at most ", "a multiple of "
	Want int
}

// Error names the function, the value and what it has to be.
func (e *ShapeError) Error() string {
	return fmt.Sprintf("rowvec: %s: %s is %d, want %s%d", e.Op, e.What, e.Got, e.Rule, e.Want)
}

// OverlapError reports a destination that shares memory with an input in a way that would change the result.
// Nothing was written.
type OverlapError struct {
	Op       string // the function
	Dst, Src string // the two arguments
}

// Error names the function and the two arguments.
func (e *OverlapError) Error() string {
	return fmt.Sprintf("rowvec: %s: %s overlaps %s", e.Op, e.Dst, e.Src)
}
