package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/rowvec/rowvec/lookup"
)

const similarUsage = `Usage: go run ./bench similar [flags] WORD...
       go run ./bench similar [flags] -analogy A B C

Shows the words or tokens with the nearest vectors, by cosine, in a file that
go run ./bench train has saved. With -analogy: A is to B as C is to what? Of tokens, red
stands for the one that begins a word, and '"red"' for the other.

`

func runSimilar(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("bench similar", similarUsage, stderr)
	from := flags.String("from", defaultVectors, "the `file` with the vectors")
	n := flags.Int("n", 10, "how many to show")
	analogy := flags.Bool("analogy", false, "A is to B as C is to what?")
	asJSON := flags.Bool("json", false, "print JSON")
	words, status, done := parseMixed(flags, args)
	switch {
	case done:
		return status
	case *n < 1:
		fmt.Fprintln(stderr, "bench: -n must be at least 1")
		return 2
	case *analogy && len(words) != 3:
		fmt.Fprintf(stderr, "bench: -analogy takes three words and not %d\n", len(words))
		return 2
	case len(words) == 0:
		fmt.Fprintln(stderr, "bench: similar to which word? -h tells more")
		return 2
	}
	all, u, err := similar(*from, words, *n, *analogy)
	if err == nil && *asJSON {
		err = writeJSON(stdout, all)
	} else if err == nil {
		_, err = io.WriteString(stdout, similarTable(all, u))
	}
	return exit(err, stderr)
}

// similar returns the n nearest of each word, or the answers to one question.
func similar(from string, words []string, n int, analogy bool) ([]neighbours, units, error) {
	t, err := loadTrained(from)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; go run ./bench train makes %s, and -from names another file", err, defaultVectors)
	}
	if err != nil {
		return nil, "", err
	}
	u := t.origin.Units
	rows := make([]int, len(words))
	for i, word := range words {
		if rows[i], err = t.find(word, from); err != nil {
			return nil, u, err
		}
	}
	table, _ := t.tensor(vectorsName)
	f, err := newFinder(table, nil, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, u, err
	}
	n = min(n, len(t.names))
	var found *lookup.Neighbours
	var titles []string
	if analogy {
		show := func(i int) string { return u.show(t.names[rows[i]]) }
		titles = []string{show(0) + " is to " + show(1) + " as " + show(2) + " is to"}
		if found, err = lookup.NewNeighbours(1, n); err == nil {
			err = f.Analogy(found, lookup.Batch(rows, 3))
		}
	} else {
		for _, row := range rows {
			titles = append(titles, u.show(t.names[row]))
		}
		found, err = f.nearest(rows, n)
	}
	if err != nil {
		return nil, u, err
	}
	var all []neighbours
	for k, title := range titles {
		x := neighbours{Token: title, Tokens: []string{}, Cosines: []float64{}}
		ids, scores := found.Of(k)
		for i, id := range ids {
			x.Tokens, x.Cosines = append(x.Tokens, t.names[id]), append(x.Cosines, float64(scores[i]))
		}
		all = append(all, x)
	}
	return all, u, nil
}

// find returns the row of a word: as it is, in lower case, or else whatever case it has there; of tokens first the one that
// begins a word, unless it is in quotation marks.
func (t *trained) find(word, path string) (int, error) {
	spellings := []string{word, strings.ToLower(word)}
	if t.origin.Units == gpt2Tokens {
		spellings = []string{" " + word, " " + strings.ToLower(word), word}
		if exact, err := strconv.Unquote(word); err == nil {
			spellings = []string{exact}
		}
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, name := range spellings {
			if row := slices.IndexFunc(t.names, func(other string) bool { return same(name, other) }); row >= 0 {
				return row, nil
			}
		}
	}
	if near := t.spelledLike(word); len(near) > 0 {
		return 0, fmt.Errorf("%s has no %q; do you mean %s?", path, word, strings.Join(near, ", "))
	}
	var some []string
	for _, name := range t.names {
		if w, ok := t.origin.Units.asWord(name); ok && len(w) > 3 && len(some) < 10 {
			some = append(some, w)
		}
	}
	return 0, fmt.Errorf("%s has no %q; it has words such as %s", path, word, strings.Join(some, ", "))
}

// spelledLike returns at most three words whose spelling is nearest, the more frequent first, and none where a third of the
// letters or more would have to change.
func (t *trained) spelledLike(word string) []string {
	want := []rune(strings.ToLower(word))
	best := (len(want) + 1) / 3
	var near []string
	for _, name := range t.names {
		other, ok := t.origin.Units.asWord(name)
		if !ok || slices.Contains(near, other) {
			continue
		}
		switch d := edits(want, []rune(other), best); {
		case d < best || d == best && d > 0 && near == nil:
			best, near = d, []string{other}
		case d == best && d > 0 && len(near) < 3:
			near = append(near, other)
		}
	}
	return near
}

// edits returns how many letters have to be added, removed or replaced, or neighbours swapped, to make b of a; some
// number above limit if there are more.
func edits(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	last, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next[0] = i + 1
		for j := range b {
			d := row[j]
			if a[i] != b[j] {
				d++
			}
			d = min(d, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, last[j-1]+1)
			}
			next[j+1] = d
		}
		last, row, next = row, next, last
	}
	return row[len(b)]
}

func similarTable(all []neighbours, u units) string {
	var b strings.Builder
	for i, x := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", x.Token)
		for k, name := range x.Tokens {
			fmt.Fprintf(&b, "  %-20s%6.3f\n", u.show(name), x.Cosines[k])
		}
	}
	return b.String()
}
