package trace

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDecode(t *testing.T) {
	regs := unix.PtraceRegs{Rax: 1 << 20, Rbx: 2 << 20, Rsp: 3 << 20, Rbp: 4 << 20, Rdi: 5 << 20, R8: 6 << 20, R10: 7 << 20,
		R12: 8 << 20, R13: 9 << 20, Rdx: 16}
	for _, c := range []struct {
		text string
		code []byte
		want uint64
	}{
		{"PREFETCHT0 (AX)", []byte{0x0f, 0x18, 0x08}, 1 << 20},
		{"PREFETCHT1 (BX)", []byte{0x0f, 0x18, 0x13}, 2 << 20},
		{"PREFETCHT2 64(DI)", []byte{0x0f, 0x18, 0x5f, 0x40}, 5<<20 + 64},
		{"PREFETCHNTA -64(BP)", []byte{0x0f, 0x18, 0x45, 0xc0}, 4<<20 - 64},
		{"PREFETCHW 64(R10)", []byte{0x41, 0x0f, 0x0d, 0x4a, 0x40}, 7<<20 + 64},
		{"PREFETCHT1 (R12)", []byte{0x41, 0x0f, 0x18, 0x14, 0x24}, 8 << 20},
		{"PREFETCHT1 (SP)", []byte{0x0f, 0x18, 0x14, 0x24}, 3 << 20},
		{"PREFETCHT1 (R13)(DX*1)", []byte{0x41, 0x0f, 0x18, 0x54, 0x15, 0x00}, 9<<20 + 16},
		{"PREFETCHT1 -4(R12)(AX*4)", []byte{0x41, 0x0f, 0x18, 0x54, 0x84, 0xfc}, 8<<20 + 4<<20 - 4},
		{"PREFETCHT1 2048(DI)(R8*2)", []byte{0x42, 0x0f, 0x18, 0x94, 0x47, 0x00, 0x08, 0x00, 0x00}, 5<<20 + 12<<20 + 2048},
	} {
		in := decode(append(c.code, make([]byte, 16)...))
		if in == nil {
			t.Errorf("%s: it does not prefetch", c.text)
		} else if got := in.address(&regs); got != c.want || in.length != uint64(len(c.code)) {
			t.Errorf("%s: address %#x, %d bytes, want %#x, %d", c.text, got, in.length, c.want, len(c.code))
		}
	}
	for _, code := range [][]byte{
		{0x90},                               // NOP
		{0x0f, 0x1f, 0x40, 0x00},             // NOP of four bytes
		{0x0f, 0x18, 0xc8},                   // what would be a prefetch of a register
		{0x0f, 0x18, 0x20},                   // a hint that is none
		{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07}, // VMOVUPS (DI), Z0
		{0x48, 0x8b, 0x0f},                   // MOVQ (DI), CX
	} {
		if decode(append(code, make([]byte, 16)...)) != nil {
			t.Errorf("% x is taken for a prefetch", code)
		}
	}
}

func TestBranch(t *testing.T) {
	const at = 1 << 20
	for _, c := range []struct {
		text     string
		code     []byte
		want     []uint64
		anywhere bool // jumps
		unknown  bool
	}{
		{"JNE -2", []byte{0x75, 0xfc}, []uint64{at + 2, at - 2}, false, false},
		{"JCXZQ 18", []byte{0xe3, 0x10}, []uint64{at + 2, at + 18}, false, false},
		{"JLT 262", []byte{0x0f, 0x8c, 0x00, 0x01, 0x00, 0x00}, []uint64{at + 6, at + 262}, false, false},
		{"JGE -250", []byte{0x0f, 0x8d, 0x00, 0xff, 0xff, 0xff}, []uint64{at + 6, at - 250}, false, false},
		{"CALL 261", []byte{0xe8, 0x00, 0x01, 0x00, 0x00}, []uint64{at + 5}, false, false},
		{"CALL AX", []byte{0xff, 0xd0}, nil, false, true},
		{"JMP AX", []byte{0xff, 0xe0}, nil, true, false},
		{"JMP R10", []byte{0x41, 0xff, 0xe2}, nil, true, false},
		{"JMP (AX)(CX*8)", []byte{0xff, 0x24, 0xc8}, nil, true, false},
		{"JCXZL 19", []byte{0x67, 0xe3, 0x10}, nil, false, true},
		{"JMP 2", []byte{0xeb, 0x00}, nil, false, false},
		{"RET", []byte{0xc3}, nil, false, false},
		{"INCQ AX", []byte{0x48, 0xff, 0xc0}, nil, false, false},
		{"DECQ (AX)", []byte{0x48, 0xff, 0x08}, nil, false, false},
		{"PREFETCHT1 (BX)", []byte{0x0f, 0x18, 0x13}, nil, false, false},
		{"VMOVUPS (DI), Z0", []byte{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07}, nil, false, false},
	} {
		code := append(c.code, make([]byte, 16)...)
		if got := branch(code, at); !slices.Equal(got, c.want) {
			t.Errorf("%s goes on at %#x, want %#x", c.text, got, c.want)
		}
		if got := jumpsAnywhere(code); got != c.anywhere {
			t.Errorf("%s jumps anywhere: %v", c.text, got)
		}
		if got := unknown(code); got != c.unknown {
			t.Errorf("%s is unknown: %v", c.text, got)
		}
	}
}
