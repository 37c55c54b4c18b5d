package main

import (
	"fmt"
	"testing"
)

func TestAddresses(t *testing.T) {
	a := measureAddresses()
	t.Log(a)
	if a.Together <= 0 || a.Apart < a.Together/2 || a.Small < a.Together/2 {
		t.Errorf("%+v", a)
	}
	for _, step := range []int{64, addressStep} {
		memory := make([]uint32, addressLines*step/4)
		chase(memory, step)
		lines, place := map[uint32]bool{}, uint32(0)
		for ; memory[place] == 0; place += lineWords { // which only one place may tell, the one in front of place 0
		}
		for range addressLines {
			lines[place/uint32(step/4)] = true
			place = memory[place]
		}
		if len(lines) != addressLines {
			t.Errorf("%d bytes apart: %d of %d lines in the chain", step, len(lines), addressLines)
		}
	}
	if got, want := fmt.Sprint(addresses{4.2, 56.1, 57}), "a line out of 1 MiB: 4.20 ns; each on 4 KiB of its own: "+
		"56.1 if on pages of 2 MiB, else 57.0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
