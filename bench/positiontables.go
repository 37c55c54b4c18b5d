package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/positional"
)

// positionMemory is what the tables of one kind of positions hold.
type positionMemory struct {
	Positions  string  `json:"positions"`
	Max        int     `json:"max"`
	Dim        int     `json:"dim"`
	Parameters int     `json:"parameters"`
	MB         float64 `json:"mb"` // of the table, in 2^20 bytes
}

// positionMemories asks encodings of several sizes, rows x columns, what they hold.
func positionMemories(sizes [][2]int) ([]positionMemory, error) {
	var all []positionMemory
	for _, size := range sizes {
		for _, kind := range []string{"learned", "sinusoidal"} {
			e, err := positional.New(kind, size[0], size[1], 1)
			if err == nil && kind == "sinusoidal" { // that of New has a table, which it can do without
				e, err = positional.NewSinusoidal(0, size[1])
			}
			if err != nil {
				return nil, err
			}
			t := e.Table()
			m := positionMemory{Positions: kind, Max: size[0], Dim: size[1], MB: 4 * float64(t.Rows) * float64(t.Cols) / (1 << 20)}
			if e.Trainable() {
				m.Parameters = t.Rows * t.Cols
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// positionVariance is that over positions.
type positionVariance struct {
	Positions  int              `json:"positions"` // how many
	Dim        int              `json:"dim"`
	Columns    []columnVariance `json:"columns"` // some
	Sinusoidal spread           `json:"sinusoidal"`
	Learned    spread           `json:"learned"` // as they are made, before any training
}

type columnVariance struct {
	Column     int     `json:"column"`
	Wavelength float64 `json:"wavelength"` // in positions
	Sinusoidal float64 `json:"sinusoidal"`
	Learned    float64 `json:"learned"`
}

// spread is of all columns.
type spread struct {
	Least float64 `json:"least"`
	Mean  float64 `json:"mean"`
	Most  float64 `json:"most"`
}

func positionVariances(n, dim int) (*positionVariance, error) {
	sinusoidal, learned, err := bothPositions(n, dim)
	if err != nil {
		return nil, err
	}
	a, b := variances(sinusoidal), variances(learned)
	v := &positionVariance{Positions: n, Dim: dim, Sinusoidal: spreadOf(a), Learned: spreadOf(b)}
	for column := 0; column < dim; column = max(1, 2*column) {
		v.Columns = append(v.Columns, columnVariance{column, wavelength(column, dim), a[column], b[column]})
	}
	v.Columns = append(v.Columns, columnVariance{dim - 1, wavelength(dim-1, dim), a[dim-1], b[dim-1]})
	return v, nil
}

// wavelength returns the number of positions after which the sinusoid of a column begins again.
func wavelength(column, dim int) float64 {
	return 2 * math.Pi * exact.Exp(exact.Log(10000)*float64(column-column%2)/float64(dim))
}

// bothPositions returns n sinusoidal positions and n learned ones before any training.
func bothPositions(n, dim int) (sinusoidal, learned rowvec.Matrix, err error) {
	s, err := positional.NewSinusoidal(n, dim)
	if err != nil {
		return sinusoidal, learned, err
	}
	l, err := positional.NewLearned(n, dim, 1)
	if err != nil {
		return sinusoidal, learned, err
	}
	return s.Table(), l.Table(), nil
}

// variances returns that of each column over the rows.
func variances(m rowvec.Matrix) []float64 {
	all, n := make([]float64, m.Cols), float64(m.Rows)
	for j := range all {
		mean := 0.0
		for i := range m.Rows {
			mean += float64(m.Row(i)[j])
		}
		mean /= n
		for i := range m.Rows {
			d := float64(m.Row(i)[j]) - mean
			all[j] += float64(d * d)
		}
		all[j] /= n
	}
	return all
}

func spreadOf(xs []float64) spread {
	s := spread{Least: math.Inf(1), Most: math.Inf(-1)}
	for _, x := range xs {
		s.Least, s.Most = min(s.Least, x), max(s.Most, x)
		s.Mean += x / float64(len(xs))
	}
	return s
}

// positionsBeyond says what comes behind the last position of a training.
type positionsBeyond struct {
	Trained      int              `json:"trained"` // positions
	Dim          int              `json:"dim"`
	LearnedError string           `json:"learned_error"` // where the next one is asked for
	Resized      int              `json:"resized"`       // positions that learned ones are interpolated to
	EndsKept     bool             `json:"ends_kept"`     // by that
	Rows         []positionBeyond `json:"rows"`
}

// positionBeyond has two distances: that of a position from the origin, and that of the next one from it.
type positionBeyond struct {
	Positions string  `json:"positions"`
	Position  int64   `json:"position"` // or -1, where they are means over all
	Length    float64 `json:"length"`
	Step      float64 `json:"step"`
}

func beyondTraining(n, dim int, positions []int64) (*positionsBeyond, error) {
	s, err := positional.NewSinusoidal(n, dim)
	if err != nil {
		return nil, err
	}
	l, err := positional.NewLearned(n, dim, 1)
	if err != nil {
		return nil, err
	}
	resized, err := l.Resized(2 * n)
	if err != nil {
		return nil, err
	}
	b := &positionsBeyond{Trained: n, Dim: dim, Resized: 2 * n}
	two, origin := newMatrix(2, dim), make([]float32, dim)
	if err := l.Fill(firstRows(two, 1), n); err != nil {
		b.LearnedError = err.Error()
	}
	short, long := l.Table(), resized.Table()
	b.EndsKept = slices.Equal(short.Row(0), long.Row(0)) && slices.Equal(short.Row(n-1), long.Row(2*n-1))
	for _, position := range positions {
		if position > math.MaxInt-2 { // where an int has 32 bits
			continue
		}
		if err := s.Fill(two, int(position)); err != nil {
			return nil, err
		}
		b.Rows = append(b.Rows, positionBeyond{
			"sinusoidal", position, apart(origin, two.Row(0)), apart(two.Row(0), two.Row(1)),
		})
	}
	for _, x := range []struct {
		name  string
		table rowvec.Matrix
	}{{"learned", short}, {"resized", long}} {
		mean := positionBeyond{Positions: x.name, Position: -1}
		for i := range x.table.Rows {
			mean.Length += apart(origin, x.table.Row(i)) / float64(x.table.Rows)
			if i > 0 {
				mean.Step += apart(x.table.Row(i-1), x.table.Row(i)) / float64(x.table.Rows-1)
			}
		}
		b.Rows = append(b.Rows, mean)
	}
	return b, nil
}

// apart returns the Euclidean distance of two vectors.
func apart(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		d := float64(x) - float64(b[i])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// The difference that is compared with the same further on: how far it is from one position to another.
const (
	differenceFrom = 10
	differenceTo   = 13
)

// positionDifference compares them.
type positionDifference struct {
	Positions   string  `json:"positions"`
	Dim         int     `json:"dim"`
	Shift       int     `json:"shift"`              // positions between the two differences
	Correlation float64 `json:"correlation"`        // of their elements
	Turned      float64 `json:"turned_correlation"` // the same once the first is turned by the angles of Shift positions
	Off         float64 `json:"turned_off"`         // by how much the turned one is off, as a share of the second
}

func positionDifferences(dim int, shifts []int) ([]positionDifference, error) {
	sinusoidal, learned, err := bothPositions(differenceTo+slices.Max(shifts)+1, dim)
	if err != nil {
		return nil, err
	}
	var all []positionDifference
	for i, m := range []rowvec.Matrix{sinusoidal, learned} {
		first := difference64(m, differenceFrom, differenceTo)
		for _, shift := range shifts {
			second := difference64(m, differenceFrom+shift, differenceTo+shift)
			turned := turn(first, rotationsOf(dim, shift))
			all = append(all, positionDifference{
				Positions: []string{"sinusoidal", "learned"}[i], Dim: dim, Shift: shift,
				Correlation: correlation(first, second), Turned: correlation(turned, second), Off: off(turned, second),
			})
		}
	}
	return all, nil
}

// difference64 returns row b less row a.
func difference64(m rowvec.Matrix, a, b int) []float64 {
	d := wide(m.Row(b))
	for j, x := range m.Row(a) {
		d[j] -= float64(x)
	}
	return d
}

// wide returns x in float64.
func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// correlation returns Pearson's coefficient of the elements of two vectors.
func correlation(a, b []float64) float64 {
	var meanA, meanB, ab, aa, bb float64
	for i := range a {
		meanA += a[i] / float64(len(a))
		meanB += b[i] / float64(len(a))
	}
	for i := range a {
		x, y := a[i]-meanA, b[i]-meanB
		ab += float64(x * y)
		aa += float64(x * x)
		bb += float64(y * y)
	}
	return ab / math.Sqrt(float64(aa*bb))
}

// off returns the length of got - want over that of want.
func off(got, want []float64) float64 {
	var o offSum
	o.add(got, want)
	return o.share()
}

// offSum is off of several pairs of vectors, end to end.
type offSum struct{ wrong, all float64 }

func (o *offSum) add(got, want []float64) {
	for i, y := range want {
		d := got[i] - y
		o.wrong += float64(d * d)
		o.all += float64(y * y)
	}
}

func (o *offSum) share() float64 { return math.Sqrt(o.wrong / o.all) }

// pairMap is a linear map of two columns, {a, b; c, d}.
type pairMap struct{ a, b, c, d float64 }

// turn applies maps to pairs of columns: a sine and the cosine of the same angle.
func turn(x []float64, maps []pairMap) []float64 {
	y := make([]float64, len(x))
	for i, m := range maps {
		s, c := x[2*i], x[2*i+1]
		y[2*i] = float64(m.a*s) + float64(m.b*c)
		y[2*i+1] = float64(m.c*s) + float64(m.d*c)
	}
	return y
}

// rotationsOf returns the rotations by the angles of k positions, for an even dim:
//
//	sin(w*(pos+k)) =  cos(w*k)*sin(w*pos) + sin(w*k)*cos(w*pos)
//	cos(w*(pos+k)) = -sin(w*k)*sin(w*pos) + cos(w*k)*cos(w*pos)
func rotationsOf(dim, k int) []pairMap {
	maps := make([]pairMap, dim/2)
	for i := range maps {
		sin, cos := exact.Frequency(10000, uint64(2*i), uint64(dim)).Times(uint64(k)).SinCos()
		maps[i] = pairMap{cos, sin, -sin, cos}
	}
	return maps
}

// fitMaps returns the maps that take the first n rows to those k further on with the least squares of errors. Nothing makes
// them rotations but the rows.
func fitMaps(m rowvec.Matrix, n, k int) []pairMap {
	maps := make([]pairMap, m.Cols/2)
	for i := range maps {
		var xx, xy, yy, ux, uy, vx, vy float64 // sums of products; x and y become u and v
		for r := range n {
			from, to := m.Row(r)[2*i:], m.Row(r + k)[2*i:]
			x, y, u, v := float64(from[0]), float64(from[1]), float64(to[0]), float64(to[1])
			xx += float64(x * x)
			xy += float64(x * y)
			yy += float64(y * y)
			ux += float64(u * x)
			uy += float64(u * y)
			vx += float64(v * x)
			vy += float64(v * y)
		}
		det := float64(xx*yy) - float64(xy*xy)
		maps[i] = pairMap{
			(float64(ux*yy) - float64(uy*xy)) / det, (float64(uy*xx) - float64(ux*xy)) / det,
			(float64(vx*yy) - float64(vy*xy)) / det, (float64(vy*xx) - float64(vx*xy)) / det,
		}
	}
	return maps
}

// stretch returns how far the maps are from rotations: the largest element of their transposes times them, less one, which
// is 0 for a rotation.
func stretch(maps []pairMap) (most float64) {
	for _, m := range maps {
		for _, x := range []float64{
			float64(m.a*m.a) + float64(m.c*m.c) - 1, float64(m.b*m.b) + float64(m.d*m.d) - 1,
			float64(m.a*m.b) + float64(m.c*m.d),
		} {
			most = max(most, math.Abs(x))
		}
	}
	return most
}

// positionRotation says how well a linear map takes positions to those K further on. Shares are of the length of what is to be
// met, over all positions that nothing has been fitted to.
type positionRotation struct {
	Dim     int     `json:"dim"`
	K       int     `json:"k"`
	Closed  float64 `json:"closed_form_off"` // by the rotation through the angles of K positions
	Fitted  float64 `json:"fitted_off"`      // by maps of pairs of columns that have been fitted
	Stretch float64 `json:"fitted_stretch"`  // how far these are from rotations
	Learned float64 `json:"learned_off"`     // the same as Fitted, of learned positions before any training
}

// positionRotations fits to the first n positions and judges by the next n.
func positionRotations(dim, n int, ks []int) ([]positionRotation, error) {
	sinusoidal, learned, err := bothPositions(2*n+slices.Max(ks), dim)
	if err != nil {
		return nil, err
	}
	judge := func(m rowvec.Matrix, maps []pairMap, k int) float64 {
		var o offSum
		for r := n; r < 2*n; r++ {
			o.add(turn(wide(m.Row(r)), maps), wide(m.Row(r+k)))
		}
		return o.share()
	}
	var all []positionRotation
	for _, k := range ks {
		fitted := fitMaps(sinusoidal, n, k)
		all = append(all, positionRotation{
			Dim: dim, K: k, Closed: judge(sinusoidal, rotationsOf(dim, k), k), Fitted: judge(sinusoidal, fitted, k),
			Stretch: stretch(fitted), Learned: judge(learned, fitMaps(learned, n, k), k),
		})
	}
	return all, nil
}

// positionSimilarity has the cosines of positions by their distance.
type positionSimilarity struct {
	Positions string       `json:"positions"`
	Dim       int          `json:"dim"`
	Cosines   []similarity `json:"cosines"`
}

// similarity is over all pairs of so distant positions.
type similarity struct {
	Distance int    `json:"distance"`
	Cosine   spread `json:"cosine"`
}

// positionSimilarities compares n positions of each kind.
func positionSimilarities(n int, dim int, distances []int) ([]positionSimilarity, error) {
	sinusoidal, learned, err := bothPositions(n, dim)
	if err != nil {
		return nil, err
	}
	var all []positionSimilarity
	for i, m := range []rowvec.Matrix{sinusoidal, learned} {
		x := positionSimilarity{Positions: []string{"sinusoidal", "learned"}[i], Dim: dim}
		for _, distance := range distances {
			x.Cosines = append(x.Cosines, similarity{distance, spreadOf(cosines(m, distance))})
		}
		all = append(all, x)
	}
	return all, nil
}

// cosines returns that of each row and the one so far behind it.
func cosines(m rowvec.Matrix, distance int) []float64 {
	all := make([]float64, m.Rows-distance)
	for i := range all {
		all[i] = cosine(m.Row(i), m.Row(i+distance))
	}
	return all
}

func (r *positionsReport) memoryText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "What positions weigh\n\n%11s%9s%9s%14s%10s\n", "positions", "max", "dim", "parameters", "MB")
	for _, x := range r.Memory {
		limit := thousands(x.Max)
		if x.Positions == "sinusoidal" {
			limit = "any"
		}
		fmt.Fprintf(&b, "%11s%9s%9s%14s%10.1f\n", x.Positions, limit, thousands(x.Dim), thousands(x.Parameters), x.MB)
	}
	b.WriteString(`
Learned positions are trained, which takes their size three times more with Adam.
Sinusoidal ones are worked out as they are needed, or kept in a table that nobody trains.
`)
	return b.String()
}

func (v *positionVariance) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Variance over %s positions, dim %d\n\n%11s%12s%12s%12s\n", thousands(v.Positions), v.Dim,
		"column", "wavelength", "sinusoidal", "learned")
	for _, c := range v.Columns {
		fmt.Fprintf(&b, "%11d%12.1f%12.6f%12.6f\n", c.Column, c.Wavelength, c.Sinusoidal, c.Learned)
	}
	for _, x := range []struct {
		name string
		a, b float64
	}{
		{"least", v.Sinusoidal.Least, v.Learned.Least}, {"mean", v.Sinusoidal.Mean, v.Learned.Mean},
		{"most", v.Sinusoidal.Most, v.Learned.Most},
	} {
		fmt.Fprintf(&b, "%11s%12s%12.6f%12.6f\n", x.name, "", x.a, x.b)
	}
	fmt.Fprintf(&b, `
A sinusoid that turns often has the variance 1/2; one whose wave is much longer than the
sequence hardly changes, and tells only far positions apart. Learned positions begin with
2/(3*dim) = %.6f everywhere, and in no order: what they tell is learnt.
`, 2/(3*float64(v.Dim)))
	return b.String()
}

func (x *positionsBeyond) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Beyond %s positions that a model was trained on, dim %d\n\n%11s%16s%10s%18s\n",
		thousands(x.Trained), x.Dim, "positions", "position", "length", "step to the next")
	for i, row := range x.Rows {
		position, name := thousands(int(row.Position)), row.Positions
		if row.Position < 0 {
			position = "mean of all"
		}
		if i > 0 && x.Rows[i-1].Positions == name {
			name = ""
		}
		fmt.Fprintf(&b, "%11s%16s%10.4f%18.4f\n", name, position, row.Length, row.Step)
	}
	ends := "the same"
	if !x.EndsKept {
		ends = "other"
	}
	fmt.Fprintf(&b, `
Sinusoidal positions continue for ever: all are as long, and each step is. Of learned ones
there are no more, "%s";
Resized makes %s of them by interpolation, with %s ends.
Before any training they are in no order, and so what is between two of them is shorter.
`, x.LearnedError, thousands(x.Resized), ends)
	return b.String()
}

func (r *positionsReport) differencesText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "PE(%d) - PE(%d) against the same difference further on\n\n%5s%13s%18s%14s%13s%12s\n",
		differenceTo, differenceFrom, "dim", "positions", "against", "correlation", "if turned", "then off")
	for i, x := range r.Differences {
		if i > 0 && r.Differences[i-1].Dim != x.Dim {
			b.WriteByte('\n')
		}
		against := fmt.Sprintf("PE(%d) - PE(%d)", differenceTo+x.Shift, differenceFrom+x.Shift)
		fmt.Fprintf(&b, "%5d%13s%18s%14.4f%13.6f%12.1e\n", x.Dim, x.Positions, against, x.Correlation, x.Turned, x.Off)
	}
	b.WriteString(`
Sinusoidal differences over the same distance are alike close by, and need not be further
on: but one is always the other, turned by the positions between them (R, below). Learned
ones know nothing of distances before any training.
`)
	return b.String()
}

func (r *positionsReport) rotationsText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "PE(pos+k) = R(k) PE(pos): a linear map that does not depend on pos\n\n%5s%6s%14s%11s%16s%20s\n",
		"dim", "k", "rotation off", "fit off", "fit stretches", "fit to learned off")
	for i, x := range r.Rotations {
		if i > 0 && r.Rotations[i-1].Dim != x.Dim {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%5d%6d%14.1e%11.1e%16.1e%20.2f\n", x.Dim, x.K, x.Closed, x.Fitted, x.Stretch, x.Learned)
	}
	fmt.Fprintf(&b, `
R(k) turns each pair of columns by k times its frequency. A linear map of each pair,
fitted to %d positions by least squares, is the same rotation: it stretches nothing. Both
are judged by the %d positions behind. Off is the length of what is wrong as a share of
what is right: 1 for learned positions before any training, which no such map foretells.
`, rotationsFit, rotationsFit)
	return b.String()
}

func (r *positionsReport) similaritiesText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cosine of two positions by their distance\n\n%10s", "distance")
	for _, x := range r.Similarities {
		fmt.Fprintf(&b, "%18s", x.Positions)
	}
	fmt.Fprintf(&b, "\n%10s", "")
	most := 0.0
	for _, x := range r.Similarities {
		fmt.Fprintf(&b, "%18s", fmt.Sprintf("dim %d", x.Dim))
	}
	b.WriteByte('\n')
	for i, first := range r.Similarities[0].Cosines {
		fmt.Fprintf(&b, "%10d", first.Distance)
		for _, x := range r.Similarities {
			c := x.Cosines[i].Cosine
			fmt.Fprintf(&b, "%18.4f", c.Mean)
			if x.Positions == "sinusoidal" {
				most = max(most, c.Most-c.Least)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, `
Means over all pairs of %d positions. Of sinusoidal ones all pairs have the same, to
%.0e, and near ones are alike; learned ones are not, before any training.
`, similarPositions, most)
	return b.String()
}

// cosine returns that of the angle between two vectors.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i, x := range a {
		x, y := float64(x), float64(b[i])
		ab += float64(x * y)
		aa += float64(x * x)
		bb += float64(y * y)
	}
	return ab / math.Sqrt(float64(aa*bb))
}
