package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tiktoken-go/tokenizer"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/bench/picture"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// drawnWords is how many of the most frequent words are drawn.
const drawnWords = 500

// drawnGroups are groups of words that have a colour of their own, and how many of each have their names beside them.
var drawnGroups = []struct {
	name   string
	colour picture.Colour
	mark   picture.Mark
}{
	{"colours", picture.Vermilion, picture.Disc},
	{"numbers", picture.Blue, picture.Square},
	{"comparatives", picture.Green, picture.Triangle},
	{"instruments", picture.Purple, picture.Diamond},
}

const drawnNames = 10

// vectors are what skip-gram has made of a text, and what it began with.
type vectors struct {
	corpus        *corpus
	before, after rowvec.Matrix
}

// wordsOf returns the words among the tokens of a corpus, the most frequent first, each in lower case and with the row of
// its most frequent form. A word is a token of a space and letters.
func wordsOf(c *corpus) (names []string, rows []int32, err error) {
	codec, err := tokenizer.Get(tokenizer.R50kBase)
	if err != nil {
		return nil, nil, err
	}
	known := make(map[string]bool)
	for token, id := range c.ids { // they are sorted
		name, err := codec.Decode([]uint{id})
		if err != nil {
			return nil, nil, err
		}
		if word, ok := gpt2Tokens.asWord(name); ok && !known[word] {
			known[word] = true
			names, rows = append(names, word), append(rows, int32(token))
		}
	}
	return names, rows, nil
}

// wordPicture shows words before and after the training.
func wordPicture(v *vectors) (*picture.Picture, error) {
	names, rows, err := wordsOf(v.corpus)
	if err != nil {
		return nil, err
	}
	n := min(len(names), drawnWords)
	names, rows = names[:n], rows[:n]
	p := &picture.Picture{
		Name: "words", Title: "Words before and after training", Height: 860,
		Text: fmt.Sprintf("Skip-gram vectors of the %d most frequent words of the text, in the plane that shows most of their "+
			"variance. The training has seen nothing but which words stand near each other. Where words of one kind are together "+
			"now, it is because they stand among the same words.", n),
	}
	for _, x := range []struct {
		heading string
		table   rowvec.Matrix
	}{{"before training", v.before}, {"after training", v.after}} {
		m := newMatrix(n, x.table.Cols)
		if err := rowvec.Gather(m, x.table, rows); err != nil {
			return nil, err
		}
		flat, err := pca(m)
		if err != nil {
			return nil, err
		}
		p.Panels = append(p.Panels, wordPanel(x.heading, names, flat))
	}
	return p, nil
}

func wordPanel(heading string, names []string, flat *plane) picture.Panel {
	panel := picture.Panel{Heading: heading, X: flat.axis(0), Y: flat.axis(1)}
	others := picture.Series{Name: "other words", Colour: picture.Faint, Line: picture.NoLine, Mark: picture.Dot}
	shown := make([]picture.Series, len(drawnGroups))
	for i, g := range drawnGroups {
		shown[i] = picture.Series{Name: g.name, Colour: g.colour, Line: picture.NoLine, Mark: g.mark}
	}
	for k, name := range names {
		s := &others
		for i, g := range drawnGroups {
			if slices.Contains(groupNamed(g.name), name) {
				s = &shown[i]
				if len(s.Points) < drawnNames {
					panel.Labels = append(panel.Labels, picture.Label{At: flat.points[k], Text: name, Colour: picture.Ink})
				}
			}
		}
		s.Points = append(s.Points, flat.points[k])
	}
	for _, s := range append([]picture.Series{others}, shown...) {
		if len(s.Points) > 0 {
			panel.Series = append(panel.Series, s)
		}
	}
	return panel
}

// groupNamed returns the words of a group.
func groupNamed(name string) []string {
	for _, g := range groups {
		if g.name == name {
			return g.words
		}
	}
	return nil
}

// axis is that of a principal component.
func (p *plane) axis(k int) picture.Axis {
	return picture.Axis{Label: fmt.Sprintf("component %d (%.1f %% of variance)", k+1, 100*p.shares[k])}
}

// drawnSentence repeats some of its words.
const drawnSentence = " the red light and the blue light and the white light"

// sentencePicture shows the tokens of a sentence alone and with positions added, or is nil if the text has not all of them.
func sentencePicture(v *vectors) (*picture.Picture, error) {
	names, rows, err := wordsOf(v.corpus)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(drawnSentence)
	ids := make([]int32, len(words))
	for i, word := range words {
		k := slices.Index(names, word)
		if k < 0 {
			return nil, nil
		}
		ids[i] = rows[k]
	}
	tokens, err := lookup.FromMatrix(v.after)
	if err != nil {
		return nil, err
	}
	positions, err := positional.NewSinusoidal(len(ids), v.after.Cols)
	if err != nil {
		return nil, err
	}
	p := &picture.Picture{
		Name: "sentence", Title: "Tokens alone, and with positions", Height: 700,
		Text: fmt.Sprintf("The sentence \u201c%s\u201d. Alone, a token that comes again has the same vector again. With its position "+
			"added it has another each time, and the words are strung along the way through the sentence, which the line follows.",
			strings.TrimSpace(drawnSentence)),
	}
	for _, x := range []struct {
		heading   string
		positions lookup.Positions
	}{{"tokens alone", nil}, {"tokens + positions", positions}} {
		layer, err := lookup.NewLayer(tokens, x.positions)
		if err != nil {
			return nil, err
		}
		m := newMatrix(len(ids), v.after.Cols)
		if err := layer.Forward(m, lookup.Sequence(ids)); err != nil {
			return nil, err
		}
		flat, err := pca(m)
		if err != nil {
			return nil, err
		}
		p.Panels = append(p.Panels, sentencePanel(x.heading, words, flat))
	}
	return p, nil
}

// sentencePanel labels points that several tokens share with the positions of all of them.
func sentencePanel(heading string, words []string, flat *plane) picture.Panel {
	panel := picture.Panel{Heading: heading, X: flat.axis(0), Y: flat.axis(1)}
	for i, at := range flat.points {
		text := words[i]
		first := true
		for j, other := range flat.points {
			if math.Hypot(at.X-other.X, at.Y-other.Y) < 1e-6 {
				first = first && j >= i
				text += map[bool]string{true: " ", false: ", "}[text == words[i]] + strconv.Itoa(j)
			}
		}
		if first {
			panel.Labels = append(panel.Labels, picture.Label{At: at, Text: text, Colour: picture.Ink})
		}
	}
	panel.Series = []picture.Series{
		{Name: "way through the sentence", Points: flat.points, Colour: picture.Faint},
		{Name: "token, with its positions", Points: flat.points, Colour: picture.Blue, Line: picture.NoLine, Mark: picture.Disc},
	}
	return panel
}

// speedPicture shows what was measured, with the copy limit.
func speedPicture(all []speed, dims []int, copyGBs float64, workers int) *picture.Picture {
	p := &picture.Picture{
		Name: "speeds", Title: "Tokens per second by dim", Height: 350,
		Text: fmt.Sprintf("Lookup, scaling and learned positions in one pass over %s of the text, %s. The copy limit is copy() "+
			"of one goroutine between large buffers, for as many bytes; short vectors, and rows that caches hold, can be above it.",
			"a part", plural(workers, "worker")),
		Panels: []picture.Panel{{
			X: picture.Axis{Label: "dim", Log: true},
			Y: picture.Axis{Label: "tokens per second", Log: true},
		}},
	}
	panel := &p.Panels[0]
	limit := picture.Series{Name: "copy limit", Colour: picture.Ink, Line: picture.Dashed}
	for _, dim := range dims {
		panel.X.Ticks = append(panel.X.Ticks, float64(dim))
		limit.Points = append(limit.Points, picture.Point{X: float64(dim), Y: copyLimit(copyGBs, dim)})
	}
	panel.Series = append(panel.Series, limit)
	looks := []picture.Series{
		{Colour: picture.Purple, Mark: picture.Dot},
		{Colour: picture.Green, Mark: picture.Triangle},
		{Colour: picture.Vermilion, Mark: picture.Square},
		{Colour: picture.Blue, Mark: picture.Disc},
	}
	for i, x := range all {
		s := looks[i%len(looks)]
		s.Name = x.side
		for k, y := range x.tokensPS {
			s.Points = append(s.Points, picture.Point{X: float64(dims[k]), Y: y})
		}
		panel.Series = append(panel.Series, s)
	}
	return p
}
