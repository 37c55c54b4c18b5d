package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/rowvec/rowvec/bench/picture"
)

// savePictures draws what the main job has found out, and more, into s.plots.
func savePictures(s settings, r *report, stderr io.Writer) error {
	dims := speedDims(s.quick)
	bar := newProgress(stderr, "measuring", len(dims)*speedRounds*(2+len(r.Host.Levels)-1))
	speeds, err := measureSpeeds(r.ids, dims, s.workers, bar.step)
	if err != nil {
		bar.clear()
		return err
	}
	bar.done()

	page := &picture.Report{Title: "rowvec: what embeddings look like", Lead: []string{
		fmt.Sprintf("%s: %s tokens of GPT-2's %s.", r.Text, thousands(r.Tokens), thousands(r.Vocab)), r.Host.String() + "."}}
	add := func(all ...*picture.Picture) {
		for _, p := range all {
			if p != nil {
				page.Pictures = append(page.Pictures, p)
			}
		}
	}
	positions, err := positionPictures()
	if err != nil {
		return err
	}
	learned, err := learnPositions(s.quick, s.workers, stderr)
	if err != nil {
		return err
	}
	add(append(positions, learned.picture())...)
	if r.SkipGram != nil {
		words, err := wordPicture(r.SkipGram.vectors)
		if err != nil {
			return err
		}
		sentence, err := sentencePicture(r.SkipGram.vectors)
		if err != nil {
			return err
		}
		add(words, sentence)
	}
	add(speedPicture(speeds, dims, r.CopyGBs, s.workers))

	var table strings.Builder
	if err := r.writeTable(&table); err != nil {
		return err
	}
	page.Output = table.String()

	// From here on an interrupt ends the work between two files.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bar = newProgress(stderr, "drawing", len(page.Pictures)+1)
	if err := page.Save(ctx, s.plots, bar.step); err != nil {
		bar.clear()
		return err
	}
	bar.done()
	fmt.Fprintf(stderr, "%s and %s\n", plural(len(page.Pictures), "picture"), filepath.Join(s.plots, picture.PageName))
	return nil
}
