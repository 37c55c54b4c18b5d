package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// screen returns what a terminal shows of one line.
func screen(written string) string {
	var line []rune
	at := 0
	for _, r := range written {
		if r == '\r' {
			at = 0
			continue
		}
		line = append(line[:at], append([]rune{r}, line[min(at+1, len(line)):]...)...)
		at++
	}
	return strings.TrimRight(string(line), " ")
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newEstimate(&out, "training", 100, 20)
	p.add(10)
	if out.Len() > 0 {
		t.Fatalf("no terminal, and yet %q", out.String())
	}

	p = newEstimate(&out, "training", 100, 20)
	p.out = &out
	check := func(want string) {
		t.Helper()
		if got := screen(out.String()); got != want {
			t.Errorf("the terminal shows %q, want %q", got, want)
		}
	}
	now := p.begun
	later := func(seconds int, steps int) {
		p.at += steps
		now = now.Add(time.Duration(seconds) * time.Second)
		p.draw(now)
	}
	later(0, 0)
	check("training  20% |" + strings.Repeat("█", 6) + strings.Repeat(" ", 24) + "|")
	later(100, 20)
	check("training  40% |" + strings.Repeat("█", 12) + strings.Repeat(" ", 18) + "| 1m40s, 5m0s left")
	later(200, 40)
	check("training  80% |" + strings.Repeat("█", 24) + strings.Repeat(" ", 6) + "| 5m0s, 1m40s left")
	later(0, 19) // which is shorter
	check("training  99% |" + strings.Repeat("█", 29) + " | 5m0s, 4s left")
	p.columns = func() int { return 20 }
	later(0, 0)
	check("training  99% |" + strings.Repeat("█", 4)) // and the last column is left free
	p.columns = func() int { return 0 }
	later(0, 0)
	check("training  99% |" + strings.Repeat("█", 29) + " | 5m0s, 4s left")
	p.clear()
	check("")
	p.drawn = time.Now()
	p.add(1)
	check("") // too soon after the last time
	p.drawn = time.Time{}
	p.add(1) // one more than there are
	if got := screen(out.String()); !strings.HasPrefix(got, "training 100% |"+strings.Repeat("█", 30)+"|") {
		t.Errorf("the terminal shows %q", got)
	}
	p.done()
	check("")
	if n := strings.Count(out.String(), "\n"); n > 0 {
		t.Errorf("%d lines are left behind", n)
	}
}
