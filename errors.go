package rowvec

import "fmt"

// IndexError reports an id that names no row. Nothing was written.
type IndexError struct {
	Op       string // the function, such as "Gather" or "lookup.Layer.Forward"
	What     string // "id", "position id" or "type id"
	Position int    // where in the ids it stands
	Index    any    // its value: an int64, or a uint64 above the largest int64
	Rows     int    // valid ids are those in [0, Rows)
}

// Error names the function, the position, the value and the valid range.
func (e *IndexError) Error() string {
	return fmt.Sprintf("rowvec: %s: %s %d at position %d is outside [0, %d)", e.Op, e.What, e.Index, e.Position, e.Rows)
}

// ShapeError reports a size or length, or another whole number, that does not fit the rest of the call. Nothing was
// written.
type ShapeError struct {
	Op   string // the function, such as "Gather" or "lookup.Layer.Forward"
	What string // what does not fit, such as "dst.Cols"
	Got  int    // its value
	Rule string // how Want is meant: "" for exactly, or "at least ", "at most ", "a multiple of ", "a square number such as "
	Want int
}

// Error names the function, the value and what it has to be.
func (e *ShapeError) Error() string {
	return fmt.Sprintf("rowvec: %s: %s is %d, want %s%d", e.Op, e.What, e.Got, e.Rule, e.Want)
}

// ValueError reports an argument or an option that is none of the values that the function takes, and no size: a number that
// is too large, too small, infinite or NaN, a constant that there is not, nil where something is needed, or what does not go
// with something else. Nothing was written.
type ValueError struct {
	Op   string // the function, such as "Dropout" or "lookup.NewLayer"
	What string // the argument or option, such as "mask.P"
	Got  any    // its value
	Want string // what it has to be, such as "one in [0, 1)"; empty where Got is nil
}

// Error names the function, the value and what it has to be.
func (e *ValueError) Error() string {
	if e.Got == nil {
		return fmt.Sprintf("rowvec: %s: %s is nil", e.Op, e.What)
	}
	return fmt.Sprintf("rowvec: %s: %s is %v, want %s", e.Op, e.What, e.Got, e.Want)
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
