//go:build unix

package guard

import (
	"runtime/debug"
	"testing"
	"unsafe"
)

func faults(f func()) (faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { faulted = recover() != nil }()
	f()
	return false
}

var sink float32

func TestPagesFault(t *testing.T) {
	r := New(t, 4000)
	head, tail := Head[float32](r, 5), Tail[float32](r, 5)
	before := (*float32)(unsafe.Add(unsafe.Pointer(&head[0]), -4))
	behind := (*float32)(unsafe.Add(unsafe.Pointer(&tail[4]), 4))
	if faults(func() { head[0], tail[4] = 1, 2; sink = head[4] + tail[0] }) {
		t.Error("the slices themselves fault")
	}
	for name, access := range map[string]func(){
		"read before":  func() { sink = *before },
		"read behind":  func() { sink = *behind },
		"write before": func() { *before = 1 },
		"write behind": func() { *behind = 1 },
	} {
		if !faults(access) {
			t.Errorf("%s does not fault", name)
		}
	}
}
