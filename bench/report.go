package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// report is what the main job has found out.
type report struct {
	Host      host     `json:"host"`
	Text      string   `json:"text"`
	Tokens    int      `json:"tokens"`
	Vocab     int      `json:"vocab"`
	Dim       int      `json:"dim"`
	Sequence  int      `json:"sequence"`
	Batch     int      `json:"batch"`
	Workers   int      `json:"workers"`
	Rounds    int      `json:"rounds"`
	SameBits  bool     `json:"same_bits"` // of all sides, in every output and gradient
	CopyBytes int      `json:"copy_bytes"`
	CopyGBs   float64  `json:"copy_gb_per_s"` // both directions
	Results   []result `json:"results"`
	SkipGram  *lesson  `json:"skip_gram,omitempty"` // of a text that is long enough

	ids []uint // the whole text, for pictures
}

// result is one line of the report: medians over rounds.
type result struct {
	Positions string  `json:"positions"`
	Direction string  `json:"direction"`
	Side      string  `json:"side"`
	TokensPS  float64 `json:"tokens_per_s"`
	GBs       float64 `json:"gb_per_s"`
	OfNaive   float64 `json:"times_naive"` // speed as a multiple of that of the naive loops
	OfCopy    float64 `json:"times_copy"`  // GB/s as a multiple of that of copy
}

// writeJSON is what all commands do with -json.
func writeJSON(w io.Writer, report any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(report)
}

const legend = `
GB/s     bytes that the fused work moves, counted alike for every side. Forward: a token's
         id, its row and its position read, its output written. Backward: its id and its
         row of dOut read, its gradient read and written; if positions are learned, dOut
         once more, and per batch the gradient of all positions read and written.
x naive  speed against plain Go loops (gather, scale, add; dense gradients): the median of
         the ratios within %[1]s
x copy   GB/s against copy() of %[2]d MiB in the same round: %.1[3]f GB/s, read + written, by
         one goroutine. Rows that caches hold can bring it above 1.
`

// writeTable prints at most 90 columns.
func (r *report) writeTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Host)
	fmt.Fprintf(&b, "%s: %s of GPT-2's %s\n", r.Text, plural(r.Tokens, "token"), thousands(r.Vocab))
	fmt.Fprintf(&b, "dim %d, batches of %d sequences of %s, %s\n\n",
		r.Dim, r.Batch, thousands(r.Sequence), plural(r.Workers, "worker"))
	fmt.Fprintf(&b, "%-12s%-11s%-10s%12s%9s%10s%9s\n", "positions", "direction", "side", "tokens/s", "GB/s", "x naive", "x copy")
	for i, x := range r.Results {
		positions, direction := x.Positions, x.Direction
		if i > 0 && r.Results[i-1].Direction == direction {
			positions, direction = "", ""
		} else if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-12s%-11s%-10s%12s%9.1f%10.2f%9.2f\n", positions, direction, x.Side,
			thousands(int(x.TokensPS)), x.GBs, x.OfNaive, x.OfCopy)
	}
	fmt.Fprintf(&b, legend, plural(r.Rounds, "round"), r.CopyBytes>>20, r.CopyGBs)
	fmt.Fprintf(&b, "\nSame bits: all sides agree in all %s and every gradient.\n", plural(r.Tokens, "output"))
	if r.SkipGram != nil {
		b.WriteString(r.SkipGram.table())
	} else {
		fmt.Fprintf(&b, "\nNo skip-gram, nor pictures of it: that takes a text of %s.\n", plural(leastSkipGram, "token"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// thousands writes 147297 as 147,297.
func thousands[I int | int64](n I) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural[I int | int64](n I, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}
