package reference

import "testing"

// PositionFacts are facts about sinusoidal positions by NumPy in float64, to about 11 digits.
type PositionFacts struct {
	Dim          int       `json:"dim"`
	N            int       `json:"n"`         // positions that are looked at
	Variances    []float64 `json:"variances"` // of each column
	Shifts       []int     `json:"shifts"`
	Correlations []float64 `json:"correlations"` // of PE(13)-PE(10) and PE(13+shift)-PE(10+shift), for each of Shifts
	Distances    []int     `json:"distances"`
	Cosines      []float64 `json:"cosines"` // mean of those of positions at each of Distances
	K            int       `json:"k"`
	Maps         []float64 `json:"maps"` // for each pair of columns, the four numbers that take it K positions on
}

// PositionFactsCases returns the cases of positionfacts.json.
func PositionFactsCases(tb testing.TB) []PositionFacts {
	tb.Helper()
	return load[PositionFacts](tb, "positionfacts.json")
}
