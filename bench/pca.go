package main

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/bench/picture"
)

// plane is where rows are in the plane that shows most of how they differ.
type plane struct {
	points []picture.Point
	shares [2]float64 // of the variance, that the two axes show
}

// pca returns the first two principal components of the rows. Which way an axis points means nothing; here it is such that
// the column with most of a say in it has a positive one.
func pca(m rowvec.Matrix) (*plane, error) {
	if m.Rows < 2 || m.Cols < 2 {
		return nil, errors.New("principal components of fewer than two rows or columns")
	}
	x := mat.NewDense(m.Rows, m.Cols, nil)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			x.Set(i, j, float64(v))
		}
	}
	var pc stat.PC
	if !pc.PrincipalComponents(x, nil) {
		return nil, errors.New("principal components that cannot be found")
	}
	variances := pc.VarsTo(nil)
	var axes mat.Dense
	pc.VectorsTo(&axes)

	p := &plane{points: make([]picture.Point, m.Rows)}
	all := 0.0
	for _, v := range variances {
		all += v
	}
	for k, coordinate := range []func(*picture.Point) *float64{
		func(at *picture.Point) *float64 { return &at.X },
		func(at *picture.Point) *float64 { return &at.Y },
	} {
		if all > 0 {
			p.shares[k] = variances[k] / all
		}
		axis := axes.ColView(k)
		most := 0
		for j := range m.Cols {
			if math.Abs(axis.AtVec(j)) > math.Abs(axis.AtVec(most)) {
				most = j
			}
		}
		sign := math.Copysign(1, axis.AtVec(most))
		mean := 0.0
		for i := range m.Rows {
			at := coordinate(&p.points[i])
			*at = sign * mat.Dot(x.RowView(i), axis)
			mean += *at / float64(m.Rows)
		}
		for i := range p.points {
			*coordinate(&p.points[i]) -= mean
		}
	}
	return p, nil
}
