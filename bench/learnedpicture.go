package main

import (
	"fmt"
	"io"
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/bench/picture"
)

// learnedPositions are positions that were trained on the task of order.
type learnedPositions struct {
	before, after rowvec.Matrix
	right         float64 // share of the answers to what was held out
}

// learnPositions trains them as the command positions does, and nothing beside them.
func learnPositions(quick bool, workers int, stderr io.Writer) (*learnedPositions, error) {
	steps := orderSteps
	if quick {
		steps = quickSteps
	}
	const seed = 1
	m, err := newOrderModel("learned", seed, workers)
	if err != nil {
		return nil, err
	}
	l := &learnedPositions{before: clone(m.layer.Positions().Table())}
	bar := newProgress(stderr, "learning positions", steps)
	lessons, d := newSentences(), &dice{seed: seed, stream: streamOrderTrain}
	for step := range steps {
		lessons.lessons(d)
		if _, err := m.train(lessons, orderRate*(1-float64(step)/float64(steps))); err != nil {
			bar.clear()
			return nil, err
		}
		bar.step()
	}
	bar.done()
	l.after = clone(m.layer.Positions().Table())
	_, l.right, err = m.judge(exam(seed, streamOrderHeld, orderLength, anyPair))
	return l, err
}

// picture has one scale for both, up to the largest number.
func (l *learnedPositions) picture() *picture.Picture {
	most := 0.0
	for _, x := range append(clone(l.before).Data, l.after.Data...) {
		most = max(most, math.Abs(float64(x)))
	}
	most = max(0.1, math.Ceil(10*most)/10)
	panel := func(heading string, m rowvec.Matrix) picture.Panel {
		return picture.Panel{
			Heading: heading,
			Y:       picture.Axis{Label: "position in tokens"},
			Heat: &picture.Heat{
				Rows:  float64s(m, m.Rows),
				Scale: picture.Scale{Label: "value", Signed: true, Min: -most, Max: most},
			},
		}
	}
	p := &picture.Picture{
		Name: "learned", Title: "Positions learned from a task of order", Height: 640,
		Text: fmt.Sprintf("A model that has to tell which of two tokens comes first in a sentence learns vectors for positions. They "+
			"begin as noise, and nobody tells it which positions are neighbours. After training it is right in %.1f %% of sentences "+
			"that it has not seen, and its vectors change steadily from the first position to the last.", 100*l.right),
		Panels: []picture.Panel{panel("before training", l.before), panel("after training", l.after)},
	}
	p.Panels[1].X.Label = fmt.Sprintf("dim, of %d", l.after.Cols)
	return p
}
