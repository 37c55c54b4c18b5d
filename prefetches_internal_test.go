//go:build linux && amd64 && !purego

package rowvec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/trace"
	"github.com/rowvec/rowvec/internal/tuning"
)

// What is shown here is what no result depends on: of a table that no cache holds, kernels prefetch each line of the rows that ids choose, and
// little else. They stop at each prefetch to show it. Two things that processors of Intel's and of AMD's choose otherwise are tried both ways
// anywhere: tuning.Halves with AVX-512, and tuning.NarrowAbreastColumns with AVX2.

const (
	coldBytes = 64 << 20 // of a table
	firstRows = 32       // that may be prefetched in part only: those that no row before them is ahead of
	coldRows  = firstRows + 4
)

// cold is what calls work on.
type cold struct {
	cols                                                int
	table, sums, squares, linear, window, rows, at, out Matrix
	ids                                                 []int32
	wide, bags                                          []int
	rowSums, weights                                    []float32
	offsets, ones, places                               []int
}

// coldMemory is that of the table and of its states.
var coldMemory [3][]float32

// newCold has rows of so many columns, and matrices that begin so many elements behind the beginning of a line.
func newCold(cols, first int) *cold {
	rows := coldBytes / 4 / cols
	matrix := func(data []float32, rows, stride int) Matrix {
		for uintptr(unsafe.Pointer(&data[0]))%cacheLine != 0 {
			data = data[1:]
		}
		return Matrix{Data: data[first:][:(rows-1)*stride+cols], Rows: rows, Cols: cols, Stride: stride}
	}
	for i := range coldMemory {
		if coldMemory[i] == nil {
			coldMemory[i] = make([]float32, coldBytes/4+2*cacheLine)
		}
	}
	room := func(rows, stride int) Matrix { return matrix(make([]float32, rows*stride+2*cacheLine), rows, stride) }
	c := &cold{
		cols: cols, table: matrix(coldMemory[0], rows, cols), sums: matrix(coldMemory[1], rows, cols), squares: matrix(coldMemory[2], rows, cols),
		linear: room(coldRows, cols), window: room(coldRows, cols+1000), rows: room(coldRows, 2*cols), at: room(4, cols),
		out:     Matrix{Data: make([]float32, 4*coldRows), Rows: 4, Cols: coldRows, Stride: coldRows},
		rowSums: make([]float32, rows), weights: make([]float32, coldRows), places: rand.Perm(coldRows),
	}
	part := rows / coldRows
	for i := range coldRows {
		// no two rows share a line, or what is behind one
		c.ids = append(c.ids, int32(i*part+rand.IntN(part-2048/cols-1)))
		c.wide = append(c.wide, int(c.ids[i]))
		c.bags = append(c.bags, i/4)
		c.ones = append(c.ones, i)
		if i%4 == 0 {
			c.offsets = append(c.offsets, i)
		}
	}
	c.offsets, c.ones = append(c.offsets, coldRows), append(c.ones, coldRows)
	return c
}

// part returns the first rows of a matrix.
func part(m Matrix, rows int) Matrix {
	return Matrix{Data: m.Data[:(rows-1)*m.Stride+m.Cols], Rows: rows, Cols: m.Cols, Stride: m.Stride}
}

// coldCall is a call with matrices of so many columns. It prefetches rows of the table and of so many states, and no more lines to no use, or
// twice, than inVain says and so many for each row that more returns. Of rows in lines that straddle one more, the last need not be
// among them where last says so.
type coldCall struct {
	name   string
	cols   []int
	do     func(c *cold) error
	states int
	more   func(c *cold) int
	last   func(c *cold) bool
}

// inVain returns how many lines of each row of m any call may prefetch to no use, or twice.
func (c *cold) inVain(m *Matrix) int {
	n := 0
	if straddles(m) {
		n++ // some rows do not
	}
	if c.cols > 48 && c.cols < 64 {
		n += 2 // see beyondBytes
	}
	if c.cols*4 >= middleBytes && isa.Active() == isa.AVX2 {
		n++ // see earlyRows
	}
	if c.cols*4 > longBurst && halves() {
		n++ // where fetch goes on with what is behind that
	}
	return n
}

// abreast reports whether rows may come abreast, which leave out the last of their lines.
func (c *cold) abreast() bool {
	return c.cols > 320 && !halves() || isa.Active() == isa.AVX2 && c.cols > tuning.NarrowAbreastColumns
}

// panels reports whether bags may have panels, which leave it out too.
func (c *cold) panels() bool { return c.cols > panelLeast && isa.Active() == isa.AVX2 }

// tail is for what is prefetched behind the first column of a tail (updateArgs.run).
func (c *cold) tail() int { return min(c.cols%16, 1) }

// uneven is for the first parts of rows that come abreast (UNEVEN in kernels_amd64.s).
func (c *cold) uneven() int {
	if c.abreast() {
		return 3
	}
	return 0
}

// eights is for the last eight columns of AVX2, of which some are not in the tail (dotArgs.prepare).
func (c *cold) eights() int {
	if isa.Active() == isa.AVX2 && c.cols%16 > 0 && c.cols%16 < 8 {
		return 1
	}
	return 0
}

// bag is for rows that are prefetched by blocks of others than whole lines, or with some of what is behind them (bagArgs.beyond).
func (c *cold) bag() int {
	switch {
	case c.panels():
		return c.cols / 32
	case c.cols < 16 || c.cols%16 != 0 && halves():
		return 2
	}
	return 0
}

// done is nil, where a kernel has done all ids.
func (c *cold) done(n int) error {
	if n != coldRows {
		return fmt.Errorf("%d of %d ids were done", n, coldRows)
	}
	return nil
}

func TestPrefetchesOfGathers(t *testing.T) {
	past := &hint{stream: true}
	testPrefetches(t, []coldCall{
		{name: "Gather", cols: []int{3, 8, 16, 30, 32, 60, 64, 72, 100, 128, 160, 256, 384}, last: (*cold).abreast,
			do: func(c *cold) error { return Gather(c.linear, c.table, c.ids) }},
		{name: "GatherScaled", cols: []int{40, 200}, do: func(c *cold) error { return GatherScaled(c.linear, c.table, c.wide, 2) }},
		{name: "Gather past the caches", cols: []int{40, 256, 512}, more: (*cold).uneven, last: (*cold).abreast,
			do: func(c *cold) error { return c.done(gather(&c.linear, &c.table, c.ids, past)) }},
		{name: "Gather into a window", cols: []int{40, 256}, do: func(c *cold) error { return Gather(c.window, c.table, c.ids) }},
	})
}

func TestPrefetchesOfScatterAdds(t *testing.T) {
	testPrefetches(t, []coldCall{
		{name: "ScatterAdd", cols: []int{16, 60, 64, 100, 256, 384}, last: (*cold).abreast,
			do: func(c *cold) error { return ScatterAdd(c.table, c.ids, 2, c.linear) }},
		{name: "ScatterAdd of a window", cols: []int{40, 256}, do: func(c *cold) error { return ScatterAdd(c.table, c.ids, 2, c.window) }},
		{name: "BagMaxBackward", cols: []int{16, 64, 200}, do: func(c *cold) error {
			return c.done(bagMaxBackward(&c.linear, &c.table, c.wide, &c.rows, c.bags, &hint{}))
		}},
	})
}

func TestPrefetchesOfEmbed(t *testing.T) {
	past := &hint{stream: true}
	testPrefetches(t, []coldCall{
		{name: "Embed", cols: []int{16, 60, 64, 100, 256, 384}, last: (*cold).abreast,
			do: func(c *cold) error { return Embed(c.linear, c.table, c.ids, 2, c.rows, 0, coldRows) }},
		{name: "EmbedAt", cols: []int{40}, do: func(c *cold) error { return EmbedAt(c.linear, c.table, c.ids, 2, c.rows, c.places) }},
		{name: "Embed past the caches", cols: []int{256, 512}, more: (*cold).uneven, last: (*cold).abreast,
			do: func(c *cold) error { return c.done(embed(&c.linear, &c.table, c.ids, 2, &c.rows, 0, coldRows, past)) }},
		{name: "Embed into a window", cols: []int{40, 256}, last: (*cold).abreast,
			do: func(c *cold) error { return Embed(c.window, c.table, c.ids, 2, c.rows, 0, coldRows) }},
	})
}

func TestPrefetchesOfUpdates(t *testing.T) {
	step := AdamStep{Rate: 0.1, MeanWeight: 0.1, SquareWeight: 0.1, Keep: 0.9, Epsilon: 1}
	testPrefetches(t, []coldCall{
		{name: "UpdateSGD", cols: []int{16, 100}, more: (*cold).tail,
			do: func(c *cold) error { return UpdateSGD(c.table, c.ids, c.linear, 0.1, 0.1) }},
		{name: "UpdateAdagrad", cols: []int{8, 16, 64, 100, 192, 384}, states: 1, more: (*cold).tail, last: (*cold).abreast,
			do: func(c *cold) error { return UpdateAdagrad(c.table, c.sums, c.ids, c.linear, 0.1, 0.1) }},
		{name: "UpdateAdam", cols: []int{16, 100, 192}, states: 2, more: (*cold).tail,
			do: func(c *cold) error { return UpdateAdam(c.table, c.sums, c.squares, c.ids, c.linear, step) }},
		{name: "UpdateRowAdagrad", cols: []int{3, 16, 100, 192}, more: (*cold).tail,
			do: func(c *cold) error { return UpdateRowAdagrad(c.table, c.rowSums, c.ids, c.linear, 0.1, 0.1) }},
		{name: "UpdateSGD of places", cols: []int{64, 192}, do: func(c *cold) error {
			return c.done(updateSGD(&c.table, c.ids, &c.linear, 0.1, 0, &hint{places: c.places}))
		}},
		{name: "UpdateAdagrad of places", cols: []int{16, 100}, states: 1, more: (*cold).tail, do: func(c *cold) error {
			return c.done(updateAdagrad(&c.table, &c.sums, c.ids, &c.linear, 0.1, 0.1, &hint{places: c.places}))
		}},
	})
}

func TestPrefetchesOfBags(t *testing.T) {
	testPrefetches(t, []coldCall{
		{name: "BagSum", cols: []int{3, 8, 16, 30, 40, 64, 100, 128, 200, 384}, more: (*cold).bag, last: (*cold).panels, do: func(c *cold) error {
			return BagSum(part(c.linear, coldRows/4), c.table, c.ids, c.offsets, nil)
		}},
		{name: "weighted BagSum", cols: []int{16, 64, 128, 200}, more: (*cold).bag, last: (*cold).panels, do: func(c *cold) error {
			return BagSum(part(c.linear, coldRows/4), c.table, c.wide, c.offsets, c.weights)
		}},
		{name: "BagMax", cols: []int{16, 64, 128, 200}, more: (*cold).bag, last: (*cold).panels, do: func(c *cold) error {
			return BagMax(part(c.linear, coldRows/4), c.table, c.ids, c.offsets)
		}},
	})
}

func TestPrefetchesOfDots(t *testing.T) {
	testPrefetches(t, []coldCall{
		{name: "Dots of 1 row", cols: []int{3, 5, 8, 16, 64, 100, 128, 300}, more: (*cold).eights, do: func(c *cold) error {
			return Dots(part(c.out, 1), part(c.at, 1), c.table, c.ids)
		}},
		{name: "Dots of 4 rows", cols: []int{7, 16, 64, 100}, more: (*cold).eights,
			do: func(c *cold) error { return Dots(c.out, c.at, c.table, c.ids) }},
		{name: "BagDots", cols: []int{16, 30, 64, 100}, more: (*cold).eights, do: func(c *cold) error {
			a := part(c.linear, coldRows/4)
			return c.done(bagDots(c.out.Data, &a, &c.table, c.ids, c.offsets, &hint{}))
		}},
		{name: "BagDots of bags of 1 id", cols: []int{64}, do: func(c *cold) error {
			return c.done(bagDots(c.out.Data, &c.linear, &c.table, c.ids, c.ones, &hint{}))
		}},
	})
}

// TestPrefetchesOfFew has calls of few ids where AVX-512 is in halves: a single row, and rows that are copied in parts, of more than startBytes or of
// less, and as many as are left. Each of their lines is prefetched, and hardly any twice.
func TestPrefetchesOfFew(t *testing.T) {
	if isatest.Sampled() {
		t.Skip("it is about this machine's own instructions")
	}
	isatest.Tune(t, &tuning.Halves, true)
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() != isa.AVX512 {
			return
		}
		for _, call := range []struct {
			name      string
			cols, ids int
			do        func(c *cold, ids []int32) error
		}{
			{"Gather", 300, 8, func(c *cold, ids []int32) error { return Gather(part(c.linear, 8), c.table, ids) }},
			{"Gather", 768, 5, func(c *cold, ids []int32) error { return Gather(part(c.linear, 5), c.table, ids) }},
			{"Gather", 1024, 16, func(c *cold, ids []int32) error { return Gather(part(c.linear, 16), c.table, ids) }},
			{"GatherScaled", 768, 1, func(c *cold, ids []int32) error { return GatherScaled(part(c.linear, 1), c.table, ids, 2) }},
			{"ScatterAdd", 768, 1, func(c *cold, ids []int32) error { return ScatterAdd(c.table, ids, 2, part(c.linear, 1)) }},
			{"Embed", 1000, 1, func(c *cold, ids []int32) error { return Embed(part(c.linear, 1), c.table, ids, 2, c.rows, 0, 1) }},
			{"EmbedAt", 300, 1, func(c *cold, ids []int32) error {
				return EmbedAt(part(c.linear, 1), c.table, ids, 2, c.rows, c.places[:1])
			}},
		} {
			c := newCold(call.cols, 0)
			var failed error
			all, err := trace.Prefetches(func() { failed = call.do(c, c.ids[:call.ids]) })
			if errors.Is(err, trace.ErrRefused) {
				t.Skip(err)
			} else if err := errors.Join(err, failed); err != nil {
				t.Fatal(err)
			}
			begin, seen, lines := uintptr(unsafe.Pointer(&c.table.Data[0])), map[uintptr]int{}, 0
			for _, address := range all {
				seen[address/cacheLine]++
			}
			for i, id := range c.ids[:call.ids] {
				row := begin + uintptr(int(id)*call.cols*4)
				for line := row / cacheLine; line <= (row+uintptr(call.cols*4-1))/cacheLine; line++ {
					if lines++; seen[line] == 0 {
						t.Errorf("%s, %d ids of %d columns: a line of row %d is not prefetched", call.name, call.ids, call.cols, i)
					}
				}
			}
			if vain := len(all) - lines; vain > 3*call.ids { // where fetch goes on, and of the last line
				t.Errorf("%s, %d ids of %d columns: %d prefetches more than lines", call.name, call.ids, call.cols, vain)
			}
		}
	})
}

func testPrefetches(t *testing.T, calls []coldCall) {
	t.Helper()
	if isatest.Sampled() {
		t.Skip("it is about this machine's own instructions")
	}
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() == isa.Portable {
			return
		}
		const intels, amds = 320, 255 // tuning.NarrowAbreastColumns
		narrow := isa.Active() == isa.AVX2
		for _, amd := range []bool{false, true} {
			columns := intels
			if amd {
				columns = amds
			}
			isatest.Tune(t, &tuning.Halves, amd)
			isatest.Tune(t, &tuning.NarrowAbreastColumns, columns)
			for _, call := range calls {
				for _, cols := range call.cols {
					if amd && narrow && (cols <= amds || cols > intels) {
						continue // as they are on Intel's
					}
					for _, first := range []int{0, 4} {
						if first != 0 && (amd && !narrow || cols%16 != 0) {
							continue // rows begin within lines anyway, or that has been tried
						}
						if err := newCold(cols, first).try(call); errors.Is(err, trace.ErrRefused) {
							t.Skip(err)
						} else if err != nil {
							t.Errorf("%s, %d columns, from element %d of a line on, AMD %v: %v", call.name, cols, first, amd, err)
						}
					}
				}
			}
		}
	})
}

// try reports what a call prefetches that it need not, or does not though it should.
func (c *cold) try(call coldCall) error {
	var failed error
	all, err := trace.Prefetches(func() { failed = call.do(c) })
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	more := 0
	if call.more != nil {
		more = call.more(c)
	}
	for i, m := range []*Matrix{&c.table, &c.sums, &c.squares}[:1+call.states] {
		if err := c.check(m, all, more, call.last != nil && call.last(c)); err != nil {
			return fmt.Errorf("matrix %d: %w", i, err)
		}
	}
	return nil
}

// check reports lines of m that are not prefetched, or too many that are.
func (c *cold) check(m *Matrix, prefetched []uintptr, more int, leaveLast bool) error {
	begin := uintptr(unsafe.Pointer(&m.Data[0]))
	seen, inside := make(map[uintptr]bool), 0
	for _, address := range prefetched {
		if address >= begin-cacheLine && address < begin+coldBytes+cacheLine {
			inside++
			seen[address/cacheLine] = true
		}
	}
	// rows from one on are prefetched as a whole, those before it as far as fetch goes
	missing := func(i int) (lines []int) {
		row := begin + uintptr(int(c.ids[i])*m.Stride*4)
		first, last := row/cacheLine, (row+uintptr(m.Cols*4-1))/cacheLine
		if leaveLast {
			last = min(last, first+uintptr(m.Cols/16)-1)
		}
		for line := first; line <= last; line++ {
			if !seen[line] {
				lines = append(lines, int(line-first))
			}
		}
		return lines
	}
	first := coldRows
	for first > 0 && missing(first-1) == nil {
		first--
	}
	if first > firstRows {
		return fmt.Errorf("id %d: lines %v are not prefetched", first-1, missing(first-1))
	}
	most := wholeBytes
	switch {
	case isa.Active() == isa.AVX2:
		most = lineBytes
	case fullWidth():
		most = 2 * lineBytes
	}
	used := 0
	for i := range coldRows {
		lines := missing(i)
		if len(lines) > 0 && lines[0] < most/cacheLine {
			return fmt.Errorf("id %d, of which only the first %d lines need be: lines %v are not prefetched", i, most/cacheLine, lines)
		}
		row := begin + uintptr(int(c.ids[i])*m.Stride*4)
		used += int((row+uintptr(m.Cols*4-1))/cacheLine-row/cacheLine) + 1 - len(lines)
	}
	if most := coldRows * (c.inVain(m) + more); inside-used > most {
		return fmt.Errorf("%d of %d prefetches are in vain or of a line that another is of, more than %d", inside-used, inside, most)
	}
	return nil
}
