package headless

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpen shows that a page's faults are seen: an error, a word in the console, a request.
func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a page.html")
	page := `<!DOCTYPE html><meta charset="utf-8"><title>x</title><p id="p" style="width:50%">x</p>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><img src="missing.png">
<script>console.log("a word"); document.title = matchMedia("(prefers-color-scheme: dark)").matches; nothing()</script>`
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	p := Open(t, file, View{Width: 400, Height: 300, Dark: true})
	complaints := strings.Join(p.Complaints, "\n")
	for _, want := range []string{"a word", "nothing is not defined", "missing.png"} {
		if !strings.Contains(complaints, want) {
			t.Errorf("no %q in %s", want, complaints)
		}
	}
	requests := strings.Join(p.Requests, "\n")
	if len(p.Requests) < 2 || !strings.Contains(requests, "a%20page.html") || !strings.Contains(requests, "missing.png") {
		t.Errorf("requests: %s", requests)
	}
	var title string
	if err := p.Evaluate("document.title", &title); err != nil || title != "true" {
		t.Errorf("title %q, %v", title, err)
	}
	var width float64
	if err := p.Evaluate("innerWidth", &width); err != nil || width < 400 {
		t.Errorf("width %v, %v", width, err)
	}
	if err := p.Look(View{Width: 800, Height: 300}); err != nil {
		t.Fatal(err)
	}
	dark := true
	if err := p.Evaluate(`matchMedia("(prefers-color-scheme: dark)").matches || innerWidth < 800`, &dark); err != nil || dark {
		t.Errorf("still dark or narrow, %v", err)
	}
	if err := p.Evaluate("nothing()", &width); err == nil || !strings.Contains(err.Error(), "nothing is not defined") {
		t.Errorf("error %v", err)
	}
}

func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := find(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
