package picture

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowvec/rowvec/bench/headless"
)

func sampleReport() *Report {
	return &Report{Title: "T & <T>", Lead: []string{"a < b"}, Pictures: samples(), Output: "x\n<y>"}
}

var address = regexp.MustCompile(`(?i)\b(https?:|ftp:|file:|url\(|@import|<script|<iframe|<link[^>]*href="[^d])`)

func TestHTML(t *testing.T) {
	b, err := sampleReport().HTML()
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{"<title>T &amp; &lt;T&gt;</title>", "a &lt; b", "Warm &amp; &lt;cold&gt;.", "&lt;y&gt;",
		`<figure id="heat">`, `<figure id="lines">`, "prefers-color-scheme: dark", "width=device-width"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	bare := strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
	if found := address.FindString(bare); found != "" {
		t.Errorf("the page has %q", found)
	}
	r := sampleReport()
	r.Pictures[1].Panels = nil
	if _, err := r.HTML(); err == nil {
		t.Error("no error of a picture without panels")
	}
}

func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := MakeDirectory(dir); err != nil {
		t.Fatal(err)
	}
	steps := 0
	if err := sampleReport().Save(context.Background(), dir, func() { steps++ }); err != nil || steps != 3 {
		t.Fatalf("%d steps, %v", steps, err)
	}
	want := []string{"heat.png", "heat.svg", "lines.png", "lines.svg", "report.html"}
	if got := names(t, dir); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%v, want %v", got, want)
	}
	for _, name := range want {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(name) {
		case ".png":
			if _, err := png.Decode(bytes.NewReader(b)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case ".svg":
			wellFormed(t, b)
		}
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestInterrupted: what was there before stays, what is new is whole, and nothing else is left.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lines.png", PageName} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := sampleReport().Save(ctx, dir, cancel)
	if !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "interrupted: 1 of 2 pictures are in "+dir) {
		t.Errorf("error %v", err)
	}
	if got := names(t, dir); strings.Join(got, " ") != "heat.png heat.svg lines.png report.html" {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"lines.png", PageName} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "old" {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
}

func TestMakeDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := MakeDirectory(filepath.Join(file, "dir")); err == nil || !strings.Contains(err.Error(), "no directory for pictures") {
		t.Errorf("error %v", err)
	}
	if err := MakeDirectory(filepath.Dir(file)); err != nil {
		t.Error(err)
	}
	if got := names(t, filepath.Dir(file)); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestLegendAbove looks at where a browser has the legend, the headings and the panels.
func TestLegendAbove(t *testing.T) {
	dir := t.TempDir()
	if err := sampleReport().Save(context.Background(), dir, func() {}); err != nil {
		t.Fatal(err)
	}
	p := headless.Open(t, filepath.Join(dir, PageName), headless.View{Width: 500, Height: 800})
	var order []string
	if err := p.Evaluate(`[...document.querySelectorAll("#lines text")]
		.filter(x => ["steep", "above", "one & only", "below"].includes(x.textContent))
		.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map(x => x.textContent)`, &order); err != nil {
		t.Fatal(err)
	}
	if strings.Join(order, ", ") != "steep, above, below, one & only" {
		t.Errorf("from the top: %v", order)
	}
}
