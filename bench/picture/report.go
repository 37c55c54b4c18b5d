package picture

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"github.com/rowvec/rowvec/internal/replace"
)

// Report is a page with pictures.
type Report struct {
	Title    string
	Lead     []string // paragraphs above the pictures
	Pictures []*Picture
	Output   string // what is to be read below them, as it was printed
}

// PageName is the file that a report's page has.
const PageName = "report.html"

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML returns the page: one file that asks for nothing else, with the pictures in it.
func (r *Report) HTML() ([]byte, error) {
	type figure struct {
		Name, Title, Text string
		SVG               template.HTML
	}
	x := struct {
		*Report
		Figures []figure
	}{Report: r}
	for _, p := range r.Pictures {
		svg, err := p.inline()
		if err != nil {
			return nil, err
		}
		x.Figures = append(x.Figures, figure{p.Name, p.Title, p.Text, template.HTML(svg)})
	}
	var b bytes.Buffer
	err := page.Execute(&b, x)
	return b.Bytes(), err
}

// MakeDirectory makes the directory that a report is to be saved in, where it is missing, and tries whether files can be
// made there: better now than after a minute of work.
func MakeDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("no directory for pictures: %w", err)
	}
	f, err := os.CreateTemp(dir, ".rowvec-*.tmp")
	if err != nil {
		return fmt.Errorf("no files can be made where pictures are to be: %w", err)
	}
	f.Close()
	return os.Remove(f.Name())
}

// Save writes each picture as PNG and SVG, and then the page, each file whole or not at all. When ctx is done it stops
// between files and says what there is. It calls step after each picture, and after the page.
func (r *Report) Save(ctx context.Context, dir string, step func()) error {
	for i, p := range r.Pictures {
		for _, kind := range []struct {
			extension string
			encode    func() ([]byte, error)
		}{{".png", p.PNG}, {".svg", p.SVG}} {
			b, err := kind.encode()
			if err != nil {
				return err
			}
			if err := stopped(ctx, dir, i, len(r.Pictures)); err != nil {
				return err
			}
			if err := write(filepath.Join(dir, p.Name+kind.extension), b); err != nil {
				return err
			}
		}
		step()
	}
	b, err := r.HTML()
	if err != nil {
		return err
	}
	if err := stopped(ctx, dir, len(r.Pictures), len(r.Pictures)); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, PageName), b); err != nil {
		return err
	}
	step()
	return nil
}

func stopped(ctx context.Context, dir string, done, all int) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %d of %d pictures are in %s, each of them whole, and no new %s", ErrInterrupted, done, all, dir, PageName)
}

// ErrInterrupted is what the error of Save wraps where its context has ended.
var ErrInterrupted = errors.New("interrupted")

func write(path string, b []byte) error {
	return replace.File(path, func(f replace.Temporary) error {
		_, err := f.Write(b)
		return err
	})
}
