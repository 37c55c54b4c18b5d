package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/bench/picture"
	"github.com/rowvec/rowvec/internal/isa"
)

// newton skips a test where Go came without its test data.
func newton(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds and 600 MB")
	}
	file, err := opticks()
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		t.Skip(err)
	}
}

func TestQuick(t *testing.T) {
	newton(t)
	var out, errs bytes.Buffer
	dir := filepath.Join(t.TempDir(), "plots")
	status := run([]string{"-quick", "-json", "-plots", dir}, &out, &errs)
	if want := "10 pictures and " + filepath.Join(dir, "report.html") + "\n"; status != 0 || errs.String() != want {
		t.Fatalf("exit status %d: %s", status, &errs)
	}
	var r report
	in := json.NewDecoder(&out)
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if want := 4 * (1 + len(isa.Available)); len(r.Results) != want {
		t.Errorf("%d results, want %d", len(r.Results), want)
	}
	if r.Tokens != 5000 || !r.SameBits || !(r.CopyGBs > 0) {
		t.Errorf("%+v", r)
	}
	for _, x := range r.Results {
		for _, figure := range []float64{x.TokensPS, x.GBs, x.OfNaive, x.OfCopy} {
			if !(figure > 0) || math.IsInf(figure, 0) {
				t.Errorf("%+v", x)
			}
		}
		if x.Side == "naive" && x.OfNaive != 1 {
			t.Errorf("naive is %v times as fast as itself", x.OfNaive)
		}
	}
	x := r.SkipGram
	if x == nil || len(x.Results) != 1+len(isa.Available) || !x.SameBits || x.Centres < 90000 || x.Pairs < 5*x.Centres {
		t.Fatalf("%+v", x)
	}
	for _, side := range x.Results {
		if !(side.TokensPS > 0 && side.PairsPS > side.TokensPS && side.OfNaive > 0) {
			t.Errorf("%+v", side)
		}
	}
	if !(x.HeldLoss < x.Unigram-0.1) { // nats; the same on every machine, since all bits are
		t.Errorf("loss %v, of the unigram baseline %v", x.HeldLoss, x.Unigram)
	}
	for _, n := range x.Nearest {
		if n.Token == "red" && !slices.Contains(n.Tokens, "blue") {
			t.Errorf("nearest to red are %v", n.Tokens)
		}
	}

	var table strings.Builder
	if err := r.writeTable(&table); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(table.String()) {
		if n := utf8.RuneCountInString(line); n > 91 && !strings.HasPrefix(line, r.Host.CPU) {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	checkPictures(t, dir)
	t.Run("page", func(t *testing.T) { checkPage(t, filepath.Join(dir, "report.html")) })
}

func TestNewtonHasAllTokens(t *testing.T) {
	newton(t)
	ids, _, err := readText("")
	if err != nil || len(ids) != 147297 {
		t.Errorf("%d tokens, error %v", len(ids), err)
	}
	n := 0
	for _, b := range batches(ids, 16) {
		n += len(b.ids)
	}
	if n != len(ids) {
		t.Errorf("%d tokens in batches", n)
	}
}

func TestNoText(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(t.TempDir(), "missing.txt"): "missing.txt",
		empty: "empty",
	} {
		var out, errs bytes.Buffer
		if status := run([]string{"-text", file}, &out, &errs); status != 1 || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit status %d, %q, %q", file, status, &out, &errs)
		}
	}
}

// TestMismatch adds a side that has one bit wrong, in one place of one direction.
func TestMismatch(t *testing.T) {
	newton(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("Whence is it that Nature doth nothing in vain? ", 300)), 0o666); err != nil {
		t.Fatal(err)
	}
	flip := func(m rowvec.Matrix, row, col int) {
		x := &m.Row(row)[col]
		*x = math.Float32frombits(math.Float32bits(*x) ^ 1)
	}
	for name, spoil := range map[string]func(*side){
		"learned positions, forward, token 1030 of the text: column 5: naive has": func(s *side) {
			forward, calls := s.forward, 0
			s.forward = func(dst rowvec.Matrix, b batch) error {
				err := forward(dst, b)
				if calls++; calls == 2 {
					flip(dst, 6, 5)
				}
				return err
			}
		},
		"row 1023: column 767: naive has": func(s *side) {
			backward, calls := s.backward, 0
			s.backward = func(grads []rowvec.Matrix, b batch, dOut rowvec.Matrix) error {
				err := backward(grads, b, dOut)
				if calls++; calls == 3 { // the last batch that comes to this position
					flip(grads[1], 1023, 767)
				}
				return err
			}
		},
	} {
		sides := func(m *model) []side {
			all := sidesOf(m)[:1]
			wrong := all[0]
			wrong.name = "wrong"
			spoil(&wrong)
			return append(all, wrong)
		}
		var out, errs bytes.Buffer
		status := runLayer([]string{"-text", text, "-batch", "1", "-rounds", "1"}, &out, &errs, sides)
		if status != 1 || out.Len() > 0 || !strings.Contains(errs.String(), name) || !strings.Contains(errs.String(), "wrong") {
			t.Errorf("exit status %d, %q, %q; want %q", status, &out, &errs, name)
		}
	}
}

// full is a disk that has room for so many writes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

// TestFullDisk: what could not be printed is an error, at whichever line.
func TestFullDisk(t *testing.T) {
	for room := range 12 {
		var errs bytes.Buffer
		if status := run([]string{"kernels", "-rounds", "1", "-match", "dim=8/|n=2048"}, &full{room}, &errs); status != 1 ||
			!strings.Contains(errs.String(), "no space left") {
			t.Errorf("room for %d writes: exit status %d, %s", room, status, &errs)
		}
	}
	var errs bytes.Buffer
	if status := exit(fmt.Errorf("-plots: %w", picture.ErrInterrupted), &errs); status != interrupted {
		t.Errorf("exit status %d, want %d", status, interrupted)
	}
}

func TestKernelsCommand(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run([]string{"kernels", "-rounds", "1", "-match", "dim=8/|n=2048"}, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("exit status %d: %s", status, &errs)
	}
	for _, want := range []string{"Gather\n  vocab=1000 dim=8 ids=2048", "n=2048", "slower than naive Go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, x := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-h"}, 0, "kernels"},
		{[]string{"kernels", "-h"}, 0, "-match"},
		{[]string{"help"}, 0, "go run ./bench kernels [flags]"},
		{[]string{"help", "memory"}, 0, "-sentence"},
		{[]string{"kernel"}, 2, `unknown argument "kernel"; do you mean kernels?`},
		{[]string{"help", "pears"}, 2, `unknown argument "pears"; do you mean peers?`},
		{[]string{"-quick", "kernels"}, 2, `unknown argument "kernels": a command comes first, before all flags`},
		{[]string{"-plots", ""}, 2, "-plots names no directory"},
		{[]string{"-rounds", "0"}, 2, "at least 1"},
		{[]string{"-fast"}, 2, "-fast"},
		{[]string{"kernels", "-match", "("}, 2, "error parsing regexp"},
		{[]string{"kernels", "-match", "nothing"}, 1, "no case matches \"nothing\". What comes first in their names:\nAdd, AddBatches,"},
		{[]string{"peers", "-h"}, 0, "-python"},
		{[]string{"-peers=python3", "-match", "nothing"}, 1, "Rotary,\nScatterAdd, Sinusoidal, SkipGram,"},
		{[]string{"-peers", "python3", "-text", "x"}, 2, "-text"},
		{[]string{"peers", "-match", "("}, 2, "error parsing regexp"},
		{[]string{"-h"}, 0, "positions"},
		{[]string{"positions", "-h"}, 0, "-json"},
		{[]string{"positions", "-rounds", "3"}, 2, "-rounds"},
		{[]string{"positions", "-workers", "0"}, 2, "from 1 to 1,024"},
		{[]string{"-workers", "1025"}, 2, "from 1 to 1,024"},
		{[]string{"peers", "-workers", "1025"}, 2, "from 1 to 1,024"},
		{[]string{"positions", "far"}, 2, `unknown argument "far"; -h lists`},
	} {
		var out, errs bytes.Buffer
		if status := run(x.args, &out, &errs); status != x.status || !strings.Contains(errs.String(), x.want) {
			t.Errorf("%v: exit status %d, %q", x.args, status, &errs)
		}
	}
}
