package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// progress is a bar on the terminal, and nothing where stderr is no terminal. It draws in step and in add alone, which come
// between measurements, and not from a goroutine, which would come within them. A library for so little is dear where all has
// to be compiled first: schollz/progressbar, for one, brings net/http, 14 of 44 s.
type progress struct {
	out       io.Writer // nil where nobody looks
	what      string
	at, steps int

	estimate bool // tell how much time is left
	first    int  // steps that were done at begun
	begun    time.Time

	drawn   time.Time
	width   int        // of what is on the terminal, in columns
	columns func() int // that the terminal has, 0 where that is not known; nil as 0
}

const (
	barWidth = 30
	barEvery = 50 * time.Millisecond
)

func newProgress(stderr io.Writer, what string, steps int) *progress {
	p := &progress{what: what, steps: steps, begun: time.Now()}
	if file, ok := stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		p.out = file
		p.columns = func() int {
			n, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return p
}

// newEstimate is a progress that tells how much time is left, for steps of one kind, some of which have been done before.
func newEstimate(stderr io.Writer, what string, steps, done int) *progress {
	p := newProgress(stderr, what, steps)
	p.estimate, p.at, p.first = true, done, done
	return p
}

// step comes between measurements, never within one.
func (p *progress) step() { p.add(1) }

func (p *progress) add(steps int) {
	p.at += steps
	if p.out == nil {
		return
	}
	if now := time.Now(); now.Sub(p.drawn) >= barEvery {
		p.draw(now)
	}
}

func (p *progress) draw(now time.Time) {
	share := min(1, float64(p.at)/float64(max(1, p.steps)))
	full := int(share * barWidth)
	line := fmt.Sprintf("%s %3.0f%% |%s%s|", p.what, 100*share, strings.Repeat("█", full), strings.Repeat(" ", barWidth-full))
	if p.estimate && p.at > p.first {
		took := now.Sub(p.begun)
		left := time.Duration(float64(took) * float64(p.steps-p.at) / float64(p.at-p.first))
		line += fmt.Sprintf(" %v, %v left", took.Round(time.Second), left.Round(time.Second))
	}
	width := utf8.RuneCountInString(line)
	if p.columns != nil {
		// A line as wide as the terminal would go on in the next, which no carriage return comes back from.
		if room := p.columns() - 1; room > 0 && width > room {
			line, width = string([]rune(line)[:room]), room
		}
	}
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-width)))
	p.drawn, p.width = now, width
}

// clear makes room for other output; the next step draws the bar again.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}

func (p *progress) done() { p.clear() }
