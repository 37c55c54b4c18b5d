package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowvec/rowvec"
)

// groups are words of Newton's Opticks that belong together: what neighbours are judged by. The list was written from the
// frequencies of the words alone, before any vectors of them were looked at, and is not to be fitted to what comes out. No
// word is in two groups. Words that the text has too seldom, and texts that have none, are left out of the judgement.
var groups = []struct {
	name  string
	words []string
}{
	{"colours", []string{"red", "orange", "yellow", "green", "blue", "indigo", "violet", "purple", "white", "black", "grey"}},
	{"numbers", []string{"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "hundred"}},
	{"ordinals", []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}},
	{"measures", []string{"inch", "inches", "foot", "feet", "degrees", "minutes"}},
	{"eye and brain", []string{"eye", "eyes", "retina", "nerves", "brain", "sensorium", "vision"}},
	{"instruments", []string{"prism", "prisms", "lens", "glass", "glasses", "speculum", "telescope", "telescopes"}},
	{"heavens", []string{"sun", "moon", "stars", "planets", "comets", "earth"}},
	{"metals", []string{"gold", "silver", "copper", "iron", "lead", "mercury", "antimony", "metal", "metals"}},
	{"salts and spirits", []string{"salt", "acid", "vitriol", "spirit", "spirits", "sulphur", "nitre", "tartar", "aqua", "fortis"}},
	{"ways of light", []string{"refraction", "refractions", "reflexion", "reflexions", "transmission", "incidence", "emergence"}},
	{"geometry", []string{"angle", "angles", "sine", "sines", "circle", "circles", "line", "lines", "diameter", "diameters",
		"radius", "circumference", "axis", "square"}},
	{"comparatives", []string{"greater", "less", "bigger", "smaller", "larger", "longer", "nearer", "farther", "broader",
		"thicker", "brighter", "darker", "denser", "rarer", "stronger"}},
	{"directions", []string{"above", "below", "upper", "lower", "upwards", "downwards", "right", "left", "top", "bottom"}},
	{"parts of the book", []string{"book", "part", "prop", "proposition", "obs", "observation", "exper", "experiment", "fig"}},
}

// What takes part in the judgement.
const (
	judgeFrom   = 10 // occurrences from which on a word does
	judgeNearby = 5  // neighbours of each word
)

// precision says how many of the neighbours of words are of the same group, of all words that occur often enough.
type precision struct {
	Nearby     int              `json:"nearby"` // neighbours of each word
	Candidates int              `json:"candidates"`
	Groups     []groupPrecision `json:"groups"`
	All        groupPrecision   `json:"all"` // the mean over words
	Times      float64          `json:"times_chance"`
}

type groupPrecision struct {
	Group   string  `json:"group"`
	Words   int     `json:"words"`
	Trained float64 `json:"trained"`
	Before  float64 `json:"before"` // of the random vectors that training began with
	Chance  float64 `json:"chance"` // what is to be expected of random vectors
}

// judge returns the precision of vectors, and that of those before they were trained; nil if the text has of no group two
// words. A token is judged as the word that it is, in upper or lower case, and no word is a neighbour of itself.
func (t *trained) judge(c *corpus, vectors, before rowvec.Matrix, workers int) (*precision, error) {
	groupOf := make(map[string]int)
	for g, group := range groups {
		for _, word := range group.words {
			groupOf[word] = g
		}
	}
	rows, places, names := t.words(c, judgeFrom), []int(nil), []string(nil)
	members := make([]int, len(groups))
	spellings := make(map[string]int)
	for place, row := range rows {
		word, _ := t.origin.Units.asWord(t.names[row])
		names = append(names, word)
		spellings[word]++
		if g, ok := groupOf[word]; ok {
			places = append(places, place)
			members[g]++
		}
	}
	p := &precision{Nearby: judgeNearby, Candidates: len(rows), Groups: make([]groupPrecision, len(groups))}
	sums := make([]groupPrecision, len(groups))
	most := 0
	for _, n := range spellings {
		most = max(most, n)
	}
	for i, table := range []rowvec.Matrix{vectors, before} {
		f, err := newFinder(table, rows, workers)
		if err != nil {
			return nil, err
		}
		found, err := f.nearest(places, judgeNearby+most-1)
		if err != nil {
			return nil, err
		}
		for k, place := range places {
			word := names[place]
			g := groupOf[word]
			others := members[g] - spellings[word]
			if others == 0 {
				continue
			}
			of, hits := 0, 0
			near, _ := found.Of(k)
			for _, other := range near {
				if names[other] == word || of == judgeNearby {
					continue
				}
				of++
				if at, ok := groupOf[names[other]]; ok && at == g {
					hits++
				}
			}
			share := float64(hits) / float64(max(1, of))
			if i == 0 {
				sums[g].Words++
				sums[g].Trained += share
				sums[g].Chance += float64(others) / float64(len(rows)-spellings[word])
			} else {
				sums[g].Before += share
			}
		}
	}
	p.Groups = p.Groups[:0]
	for g, sum := range sums {
		if sum.Words == 0 {
			continue
		}
		p.All.Words += sum.Words
		p.All.Trained += sum.Trained
		p.All.Before += sum.Before
		p.All.Chance += sum.Chance
		sum.Group = groups[g].name
		p.Groups = append(p.Groups, sum.mean())
	}
	if p.All.Words == 0 {
		return nil, nil
	}
	p.All.Group = "all"
	p.All = p.All.mean()
	p.Times = p.All.Trained / p.All.Chance
	return p, nil
}

func (p groupPrecision) mean() groupPrecision {
	n := float64(p.Words)
	p.Trained, p.Before, p.Chance = p.Trained/n, p.Before/n, p.Chance/n
	return p
}

// words returns the rows of words that occur often enough, the most frequent first.
func (t *trained) words(c *corpus, from int) (rows []int) {
	for row, n := range c.counts {
		if _, ok := t.origin.Units.asWord(t.names[row]); ok && n >= from {
			rows = append(rows, row)
		}
	}
	return rows
}

func (p *precision) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nOf the %d nearest of %s that occur at least %d times, so much is of the\n"+
		"same group. The groups, in bench/groups.go, are older than the vectors.\n\n",
		p.Nearby, plural(p.Candidates, "word"), judgeFrom)
	fmt.Fprintf(&b, "%-18s%8s%10s%10s%10s\n", "group", "words", "trained", "before", "chance")
	for _, x := range append(slices.Clone(p.Groups), p.All) {
		fmt.Fprintf(&b, "%-18s%8d%10.3f%10.3f%10.4f\n", x.Group, x.Words, x.Trained, x.Before, x.Chance)
	}
	fmt.Fprintf(&b, "\nThat is %.0f times what random vectors are to be expected to have.\n", p.Times)
	return b.String()
}
