package main

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/bench/headless"
	"github.com/rowvec/rowvec/bench/picture"
)

// allPictures are those of a text that has the words of drawnSentence.
var allPictures = []string{
	"positions", "waves", "vectors", "cosines", "distances", "errors", "learned", "words", "sentence", "speeds",
}

// checkPictures looks at what -plots has left in a directory.
func checkPictures(t *testing.T, dir string) {
	t.Helper()
	var want []string
	for _, name := range allPictures {
		want = append(want, name+".png", name+".svg")
		b, err := os.ReadFile(filepath.Join(dir, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if size := m.Bounds().Size(); size.X != 3*picture.Width || size.Y < size.X/2 {
			t.Errorf("%s is %v", name, size)
		}
	}
	want = append(want, picture.PageName)
	slices.Sort(want)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	b, err := os.ReadFile(filepath.Join(dir, picture.PageName))
	if err != nil {
		t.Fatal(err)
	}
	if bare := strings.ReplaceAll(string(b), `xmlns="http://www.w3.org/2000/svg"`, ""); strings.Contains(bare, "http:") || strings.Contains(bare, "https:") {
		t.Error("the page refers to others")
	}
}

// faults lists what a reader would complain about: pictures that are missing or have no size, words that are cut off or lie
// over each other, images that cannot be shown, a page that is wider than the screen, ink that does not stand out.
const faults = `(async () => {
	const all = [], words = []
	const rect = x => x.getBoundingClientRect()
	for (const figure of document.querySelectorAll("figure")) {
		const svg = figure.querySelector("svg"), box = rect(svg), natural = svg.viewBox.baseVal
		const shape = box.height / box.width * natural.width / natural.height
		if (box.width < 300 || natural.width !== 420 || Math.abs(shape - 1) > 0.01) all.push(figure.id + " is " + box.width + " x " + box.height)
		if (figure.querySelector("figcaption").textContent.length < 40) all.push(figure.id + " has no sentence")
		const texts = [...svg.querySelectorAll("text")].map(x => [x.textContent, rect(x)])
		texts.forEach(([text, r], i) => {
			if (r.left < box.left || r.right > box.right || r.top < box.top - 1 || r.bottom > box.bottom + 1) all.push(figure.id + " cuts off " + text)
			if (r.width < 3 || r.height < 3) all.push(figure.id + " hides " + text)
			for (const [other, s] of texts.slice(0, i)) {
				const slack = 0.25 * Math.min(r.height, s.height)
				if (r.left + 1 < s.right && s.left + 1 < r.right && r.top + slack < s.bottom && s.top + slack < r.bottom) all.push(figure.id + ": " + text + " is over " + other)
			}
		})
		for (const image of svg.querySelectorAll("image")) {
			const shown = new Image()
			shown.src = image.getAttribute("href")
			await shown.decode().catch(() => {})
			if (!(shown.naturalWidth >= 128) || rect(image).width < 80) all.push(figure.id + " has an image of " + shown.naturalWidth)
		}
	}
	if (document.documentElement.scrollWidth > screenWidth) all.push("the page is " + document.documentElement.scrollWidth + " wide")
	const light = colour => colour.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 765
	const ink = light(getComputedStyle(document.querySelector("svg text")).fill)
	const card = light(getComputedStyle(document.querySelector("figure")).backgroundColor)
	if (Math.abs(ink - card) < 0.6 || (card < 0.5) !== matchMedia("(prefers-color-scheme: dark)").matches) all.push("ink " + ink + " on " + card)
	return all
})()`

// checkPage reads the page as on a telephone, in both themes, and on a desk.
func checkPage(t *testing.T, file string) {
	t.Helper()
	p := headless.Open(t, file, headless.View{Width: 390, Height: 844})
	for _, v := range []headless.View{{Width: 390, Height: 844}, {Width: 390, Height: 844, Dark: true}, {Width: 1400, Height: 900}} {
		if err := p.Look(v); err != nil {
			t.Fatal(err)
		}
		var found, ids []string
		if err := p.Evaluate(strings.Replace(faults, "screenWidth", strconv.Itoa(v.Width), 1), &found); err != nil {
			t.Fatal(err)
		}
		for _, fault := range found {
			t.Errorf("%+v: %s", v, fault)
		}
		if err := p.Evaluate(`[...document.querySelectorAll("figure")].map(x => x.id)`, &ids); err != nil || !slices.Equal(ids, allPictures) {
			t.Errorf("%+v: pictures %v, %v", v, ids, err)
		}
	}
	if len(p.Requests) != 1 || len(p.Complaints) > 0 {
		t.Errorf("the page asks for %v; the browser complains of %v", p.Requests, p.Complaints)
	}
}

func TestPlotsDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	dir := filepath.Join(file, "dir")
	status := run([]string{"-quick", "-plots", dir}, &out, &errs)
	if status != 1 || out.Len() > 0 || !strings.HasPrefix(errs.String(), "bench: -plots: no directory for pictures: ") {
		t.Errorf("exit status %d, %q, %q", status, &out, &errs)
	}
}

// TestPCA: points on an ellipse that was turned and moved in three dimensions, and some that differ in one way alone.
func TestPCA(t *testing.T) {
	m := newMatrix(40, 3)
	long, short := [3]float64{2. / 3, 2. / 3, 1. / 3}, [3]float64{-1 / math.Sqrt2, 1 / math.Sqrt2, 0}
	want := make([]picture.Point, m.Rows)
	for i := range want {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 40)
		want[i] = picture.Point{X: 3 * cos, Y: sin}
		for j := range 3 {
			m.Row(i)[j] = float32(float64(5*j) + want[i].X*long[j] + want[i].Y*short[j])
		}
	}
	p, err := pca(m)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(p.shares[0]-0.9) > 1e-5 || math.Abs(p.shares[1]-0.1) > 1e-5 {
		t.Errorf("shares %v", p.shares)
	}
	sign := math.Copysign(1, p.points[10].Y) // both columns of the short axis have as much of a say
	for i, at := range p.points {
		if math.Abs(at.X-want[i].X) > 1e-5 || math.Abs(at.Y-sign*want[i].Y) > 1e-5 {
			t.Errorf("point %d is %v, want %v", i, at, want[i])
		}
	}

	line := newMatrix(4, 2)
	for i := range line.Rows {
		line.Row(i)[1] = float32(-i)
	}
	if p, err = pca(line); err != nil || math.Abs(p.shares[0]-1) > 1e-12 || math.Abs(p.shares[1]) > 1e-12 ||
		math.Abs(p.points[0].X-1.5) > 1e-12 || math.Abs(p.points[3].X+1.5) > 1e-12 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = pca(newMatrix(3, 2)); err != nil || p.shares != [2]float64{} {
		t.Errorf("of what is all the same: %+v, %v", p, err)
	}
	if _, err := pca(newMatrix(1, 2)); err == nil {
		t.Error("no error for one row")
	}
}

// TestPositionPictures holds what is drawn to the formulas.
func TestPositionPictures(t *testing.T) {
	all, err := positionPictures()
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]*picture.Picture)
	for _, p := range all {
		named[p.Name] = p
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 2e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	element := func(pos, dim int) float64 {
		sin, cos := math.Sincos(float64(pos) * math.Pow(10000, -float64(dim-dim%2)/128))
		return []float64{sin, cos}[dim%2]
	}
	rows := named["positions"].Panels[0].Heat.Rows
	if len(rows) != 50 || len(rows[0]) != 128 {
		t.Fatalf("%d x %d", len(rows), len(rows[0]))
	}
	for pos, row := range rows {
		for dim, x := range row {
			near("element", x, element(pos, dim))
		}
	}
	for i, dim := range []int{0, 1, 8, 16, 32, 64} {
		for k, at := range named["waves"].Panels[i].Series[0].Points {
			near("place", at.X, float64(k))
			near("wave", at.Y, element(k, dim))
		}
	}
	for i, pos := range []int{0, 10, 25, 50} {
		for k, s := range named["vectors"].Panels[i].Series {
			if len(s.Points) != 64 {
				t.Errorf("%d points", len(s.Points))
			}
			for j, at := range s.Points {
				near("dim", at.X, float64(2*j+k))
				near("vector", at.Y, element(pos, 2*j+k))
			}
		}
	}
	similar := func(offset int) (sum float64) {
		for dim := 0; dim < 128; dim += 2 {
			sum += math.Cos(float64(offset)*math.Pow(10000, -float64(dim)/128)) / 64
		}
		return sum
	}
	matrix := named["cosines"].Panels[0].Heat
	for i, row := range matrix.Rows {
		for j, x := range row {
			near("cosine", x, similar(j-i))
			if x < matrix.Scale.Min {
				t.Errorf("%v is below the scale", x)
			}
		}
	}
	for _, s := range named["distances"].Panels[0].Series {
		for _, at := range s.Points {
			near("distance", at.Y, math.Sqrt(max(0, 128*(1-similar(int(at.X))))))
			if at.Y > named["distances"].Panels[0].Y.Max {
				t.Errorf("%v is above the axis", at.Y)
			}
		}
	}
	series := named["errors"].Panels[0].Series
	for i, at := range series[2].Points {
		if !(at.Y <= 6e-8) || at.X > 1000 && !(series[1].Points[i].Y > 100*at.Y) {
			t.Errorf("rowvec is off by %v, and float32 by %v", at, series[1].Points[i])
		}
	}
}

// TestSentencePicture: a token that comes again is one point alone, and several with positions.
func TestSentencePicture(t *testing.T) {
	flat := &plane{points: []picture.Point{{X: 1}, {X: 2}, {X: 1}, {X: 3}, {X: 1}}}
	panel := sentencePanel("", strings.Fields("the red the blue the"), flat)
	var got []string
	for _, l := range panel.Labels {
		got = append(got, l.Text)
	}
	if want := []string{"the 0, 2, 4", "red 1", "blue 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	none := &vectors{corpus: newCorpus(babble(12000)), after: newMatrix(1, 2)}
	if p, err := sentencePicture(none); p != nil || err != nil {
		t.Errorf("%v, %v of a text without these words", p, err)
	}
}

func TestMeasureSpeeds(t *testing.T) {
	ids := make([]uint, 1500) // not whole sequences
	for i := range ids {
		ids[i] = uint(i * 33)
	}
	steps := 0
	all, err := measureSpeeds(ids, []int{16, 48}, 1, func() { steps++ })
	if err != nil || len(all) != 1+len(thisHost().Levels) || steps != 2*speedRounds*len(all) {
		t.Fatalf("%d steps, %v, %v", steps, all, err)
	}
	for _, x := range all {
		for _, y := range x.tokensPS {
			if !(y > 1e4) || math.IsInf(y, 0) || len(x.tokensPS) != 2 {
				t.Errorf("%+v", x)
			}
		}
	}
	if got := copyLimit(24.08, 100) * float64(idBytes+1200); math.Abs(got-24.08e9) > 1 {
		t.Errorf("%v bytes per second", got)
	}
	p := speedPicture(all, []int{16, 48}, 10, 1)
	if s := p.Panels[0].Series; len(s) != 1+len(all) || s[0].Points[1].Y != copyLimit(10, 48) || s[1].Points[0].Y != all[0].tokensPS[0] {
		t.Errorf("%+v", s)
	}
}

// TestLearnedPicture has one scale for both, which holds every number.
func TestLearnedPicture(t *testing.T) {
	before, after := rowvec.Matrix{Rows: 2, Cols: 2, Data: []float32{0, 0.01, 0, 0}, Stride: 2}, newMatrix(2, 2)
	after.Data[3] = -0.73
	p := (&learnedPositions{before, after, 1}).picture()
	want := picture.Scale{Label: "value", Signed: true, Min: -0.8, Max: 0.8}
	if a, b := p.Panels[0].Heat, p.Panels[1].Heat; a.Scale != want || b.Scale != want || b.Rows[1][1] != float64(float32(-0.73)) {
		t.Errorf("%+v, %+v", a, b)
	}
}
