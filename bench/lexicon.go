package main

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// units are what a text is cut into.
type units string

const (
	wholeWords units = "words" // in lower case
	gpt2Tokens units = "tokens"
)

// lexicon is a text as units, each an index of names.
type lexicon struct {
	ids   []uint
	names []string
}

func newLexicon(text string, u units) (*lexicon, error) {
	x := &lexicon{}
	if u == wholeWords {
		known := make(map[string]uint)
		for word := range words(text) {
			add(x, known, word, word)
		}
		return x, nil
	}
	codec, err := tokenizer.Get(tokenizer.R50kBase)
	if err != nil {
		return nil, err
	}
	ids, names, err := codec.Encode(text)
	if err != nil {
		return nil, err
	}
	known := make(map[uint]uint)
	for i, id := range ids {
		name := names[i]
		if !utf8.ValidString(name) { // a part of a letter
			name = strings.Trim(strconv.QuoteToASCII(name), `"`)
		}
		add(x, known, id, name)
	}
	return x, nil
}

func add[K comparable](x *lexicon, known map[K]uint, key K, name string) {
	id, ok := known[key]
	if !ok {
		id = uint(len(x.names))
		known[key] = id
		x.names = append(x.names, name)
	}
	x.ids = append(x.ids, id)
}

// words yields the words of a text in lower case: letters with what marks them, and apostrophes between those.
func words(text string) func(yield func(string) bool) {
	isGap := func(r rune) bool { return r != '\'' && !unicode.IsLetter(r) && !unicode.IsMark(r) }
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(strings.ReplaceAll(text, "’", "'"), isGap) {
			if word = strings.ToLower(strings.Trim(word, "'")); word != "" && !yield(word) {
				return
			}
		}
	}
}

// without removes units that occur fewer than least times, so that those around them become neighbours, as in word2vec.
func (x *lexicon) without(least int) {
	counts := make([]int, len(x.names))
	for _, id := range x.ids {
		counts[id]++
	}
	kept := x.ids[:0]
	for _, id := range x.ids {
		if counts[id] >= least {
			kept = append(kept, id)
		}
	}
	x.ids = kept
}

// checksum tells texts apart.
func (x *lexicon) checksum() string {
	hash := crc32.NewIEEE()
	for _, id := range x.ids {
		fmt.Fprintln(hash, x.names[id])
	}
	return fmt.Sprintf("%08x", hash.Sum32())
}

// asWord returns a unit as a word in lower case; it is none if it is a token that does not begin a word, or that has
// anything but letters.
func (u units) asWord(name string) (word string, ok bool) {
	if u == gpt2Tokens {
		letters, begins := strings.CutPrefix(name, " ")
		isOther := func(r rune) bool { return !unicode.IsLetter(r) }
		return strings.ToLower(letters), begins && letters != "" && !strings.ContainsFunc(letters, isOther)
	}
	return name, true
}

// show returns a unit for the eye: the spaces of tokens count, and a file from elsewhere may have anything for a word.
func (u units) show(name string) string {
	if u == gpt2Tokens || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
