package positional

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/race"
)

// anyScaling is somebody's Scaling, whose frequencies it leaves to a function.
type anyScaling func(length int) (Frequencies, error)

func (anyScaling) Kind() string   { return "any" }
func (anyScaling) String() string { return "any" }
func (anyScaling) ByLength() bool { return true }

func (s anyScaling) Frequencies(dim int, base float64, length int) (Frequencies, error) {
	return s(length)
}

// TestScalingThatFails: what a Scaling says of a length is what the call for so many positions comes to.
func TestScalingThatFails(t *testing.T) {
	wrong := errors.New("too long")
	r := made(NewRotary(4, Scaled(anyScaling(func(length int) (Frequencies, error) {
		if length > 10 {
			return Frequencies{}, wrong
		}
		return Frequencies{Base: 10000, Amplitude: 1}, nil
	})), Table(3)))
	for length := 10; length <= 11; length++ {
		want := error(nil)
		if length > 10 {
			want = wrong
		}
		x := filled(2, 8)
		at := []int{0, length - 1}
		for name, err := range map[string]error{
			"Angles":  r.Angles(filled(2, 4), length-2),
			"Apply":   r.Apply(x, x, 2, 2, length-2),
			"ApplyAt": r.ApplyAt(x, x, 2, at),
		} {
			if err != want {
				t.Errorf("%s of %d positions: error %v, want %v", name, length, err, want)
			}
		}
	}
}

// TestFrequenciesOfAnyScaling: of what a Scaling gives, all that is finite is taken, and nothing else.
func TestFrequenciesOfAnyScaling(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		f  Frequencies
		ok bool
	}{
		{Frequencies{Base: math.MaxFloat64, Amplitude: math.MaxFloat32, Multipliers: []float64{0, math.MaxFloat64}}, true},
		{Frequencies{Base: 2, Amplitude: -math.MaxFloat32}, true},
		{Frequencies{Base: inf, Amplitude: 1}, false},
		{Frequencies{Base: 1, Amplitude: 1}, false},
		{Frequencies{Base: 2, Amplitude: math.MaxFloat64}, false},
		{Frequencies{Base: 2, Amplitude: 1, Multipliers: []float64{1, inf}}, false},
		{Frequencies{Base: 2, Amplitude: 1, Multipliers: []float64{1, -math.SmallestNonzeroFloat64}}, false},
		{Frequencies{Base: 2, Amplitude: 1, Multipliers: []float64{1}}, false},
	} {
		_, err := NewRotary(4, Scaled(anyScaling(func(int) (Frequencies, error) { return c.f, nil })))
		if (err == nil) != c.ok {
			t.Errorf("%+v: error %v", c.f, err)
		}
	}
}

// TestScalingThatReusesItsMultipliers: each length has frequencies of its own, also where a Scaling writes all of them to
// the same place.
func TestScalingThatReusesItsMultipliers(t *testing.T) {
	shared := []float64{0, 0}
	r := made(NewRotary(4, Scaled(anyScaling(func(length int) (Frequencies, error) {
		shared[0], shared[1] = 1, 1/float64(length+1)
		return Frequencies{Base: 10000, Amplitude: 1, Multipliers: shared}, nil
	}))))
	for _, length := range []int{5, 9, 5} {
		plain := made(NewRotary(4, Scaled(anyScaling(func(int) (Frequencies, error) {
			return Frequencies{Base: 10000, Amplitude: 1, Multipliers: []float64{1, 1 / float64(length+1)}}, nil
		}))))
		got, want := filled(length, 4), filled(length, 4)
		if err := errors.Join(r.Angles(got, 0), plain.Angles(want, 0)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Data, want.Data) {
			t.Errorf("%d positions are turned by %v, want %v", length, got.Data, want.Data)
		}
	}
}

// TestScalingThatFailsLater: the error of a Scaling is returned, though it had none for the same length before.
func TestScalingThatFailsLater(t *testing.T) {
	failed, calls := errors.New("failed"), 0
	r := made(NewRotary(4, Scaled(anyScaling(func(length int) (Frequencies, error) {
		if calls++; calls > 2 {
			return Frequencies{}, failed
		}
		return Frequencies{Base: float64(2 + length)}, nil
	}))))
	if err := r.Angles(filled(3, 4), 0); err != failed || calls != 3 {
		t.Errorf("error %v of call %d", err, calls)
	}
}

// TestGreatestScalings: the greatest numbers that each Scaling takes are taken.
func TestGreatestScalings(t *testing.T) {
	const most = math.MaxFloat64
	for _, c := range []struct {
		s  Scaling
		ok bool
	}{
		{Linear{Factor: most}, true},
		{YaRN{Factor: 2, Original: 8, Attention: most}, true},
		{YaRN{Factor: 2, Original: 8, BetaFast: most}, true},
		{Llama3{Factor: 8, Original: 8, LowFrequency: 1, HighFrequency: most}, true},
		{LongRoPE{Factor: 2, Original: 8, Attention: most, Short: []float64{most, 1}, Long: []float64{1, most}}, true},
		{LongRoPE{Factor: 2, Original: 8, Short: []float64{math.Copysign(0, -1), 1}, Long: []float64{1, 1}}, false},
		{LongRoPE{Factor: 2, Original: 8, Short: []float64{1, 1}, Long: []float64{1, math.SmallestNonzeroFloat64}}, false},
	} {
		if _, err := c.s.Frequencies(4, 10000, 16); (err == nil) != c.ok {
			t.Errorf("%+v: error %v", c.s, err)
		}
	}
	if _, err := (NTK{Factor: 1}).Frequencies(2, most, 16); err != nil {
		t.Errorf("the greatest base: %v", err)
	}
}

// TestCountInTheMemoryOfIDs: positions go into the place of ids of their size, and of no others.
func TestCountInTheMemoryOfIDs(t *testing.T) {
	memory := make([]int64, 8)
	at := unsafe.Slice((*int)(unsafe.Pointer(&memory[0])), 4)
	same, other := error(nil), error(nil)
	ids64, ids32 := memory[:4], unsafe.Slice((*int32)(unsafe.Pointer(&memory[0])), 4)
	if unsafe.Sizeof(at[0]) == 8 {
		same, other = CountPositions(at, ids64, 4, 1, 0), CountPositions(at, ids32, 4, 1, 0)
	} else {
		same, other = CountPositions(at, ids32, 4, 1, 0), CountPositions(at, ids64, 4, 1, 0)
	}
	if overlap := (*rowvec.OverlapError)(nil); same != nil || !errors.As(other, &overlap) {
		t.Errorf("of the same size: %v; of another: %v", same, other)
	}
}

// TestRotateWithinAnotherStride: a rotation is in place only where the rows are the same ones.
func TestRotateWithinAnotherStride(t *testing.T) {
	m := filled(3, 4)
	other := m
	other.Stride--
	err := made(NewRotary(4)).Apply(m, other, 1, 3, 0)
	if overlap := (*rowvec.OverlapError)(nil); !errors.As(err, &overlap) || overlap.Op != "positional.Rotary.Apply" {
		t.Error(err)
	}
}

// TestAmplitudeOfNothing: a Scaling that leaves the amplitude out does not make nothing of what it rotates.
func TestAmplitudeOfNothing(t *testing.T) {
	want, got := filled(2, 8), filled(2, 8)
	base := anyScaling(func(int) (Frequencies, error) { return Frequencies{Base: defaultBase}, nil })
	for m, r := range map[*rowvec.Matrix]*Rotary{&want: made(NewRotary(4)), &got: made(NewRotary(4, Scaled(base)))} {
		if err := r.Apply(*m, *m, 2, 2, 5); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got.Data, want.Data) {
		t.Errorf("got %v, want %v", got.Data, want.Data)
	}
}

// TestShare: the shares are one behind the other and differ by 1 at most, also where a product with the number of items would not
// fit into 32 bits.
func TestShare(t *testing.T) {
	for _, n := range []int{0, 1, 5, 4096, 1 << 20, math.MaxInt32} {
		for _, shares := range []int{1, 3, 7, 4096} {
			for _, i := range []int{0, 1, shares / 2, shares - 1} {
				size := share(n, shares, i+1) - share(n, shares, i)
				if size < n/shares || size-n/shares > 1 {
					t.Errorf("share %d of %d of %d items has %d", i, shares, n, size)
				}
			}
			if share(n, shares, 0) != 0 || share(n, shares, shares) != n {
				t.Errorf("%d shares of %d items are those from %d to %d", shares, n, share(n, shares, 0), share(n, shares, shares))
			}
		}
	}
}

// TestRowsOfNobody: what a caller's row is overwritten with while it is filled does not come back in another's.
func TestRowsOfNobody(t *testing.T) {
	if race.Enabled {
		t.Skip("it is a race of the caller's making")
	}
	s := made(NewSinusoidal(0, 64))
	shared, got, want := filled(1, 64), filled(1, 64), filled(1, 64)
	if err := s.Fill(want, 100); err != nil {
		t.Fatal(err)
	}
	done, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				for i := range shared.Data {
					atomic.StoreUint32((*uint32)(unsafe.Pointer(&shared.Data[i])), 0x40e00000)
				}
			}
		}
	}()
	for range 2000 {
		for _, fill := range []struct {
			dst rowvec.Matrix
			pos int
		}{{shared, 101}, {shared, 100}, {got, 100}} {
			if err := s.Fill(fill.dst, fill.pos); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got.Data, want.Data) {
			t.Errorf("position 100 is %v", got.Data)
			break
		}
	}
	close(done)
	<-stopped
}

// TestRotateNothing: rows that there are none of need no angles, however long the sequences are said to be.
func TestRotateNothing(t *testing.T) {
	r := made(NewRotary(1 << 14))
	nothing := rowvec.Matrix{Cols: 1 << 14}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := r.Apply(nothing, nothing, 1, 256, 0); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes for them", n)
	}
}
