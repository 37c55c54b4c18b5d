package trace

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread cannot trace itself: another instance of the program does so. This is the variable that tells that one of the thread.
const variable = "ROWVEC_TRACE_THREAD"

func init() {
	name := os.Getenv(variable)
	if name == "" {
		return
	}
	thread, err := strconv.Atoi(name)
	if err == nil {
		err = trace(thread)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Prefetches runs f and returns the addresses that the assembly of this module prefetches meanwhile, in that order. No other goroutine may run that
// assembly. It takes 20 to 160 ms for 36 rows of 3 to 1,500 columns on a virtual Zen 5, where to step through every instruction took 0.05 to 3.8 s.
func Prefetches(f func()) (addresses []uintptr, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	undo, err := pin(thread) // to one processor, where a step takes a quarter of the time
	if err != nil {
		return nil, err
	}
	defer undo()
	functions, err := assembly()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, thread))
	var says strings.Builder
	cmd.Stderr = &says
	begin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	log, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// Yama, where it is, has a thread name who may trace it.
	_ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(cmd.Process.Pid), 0, 0, 0)
	if err := errors.Join(binary.Write(begin, binary.NativeEndian, functions), begin.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w, %s", ErrRefused, errors.Join(err, cmd.Wait()), says.String())
	}
	if _, err := io.ReadFull(log, make([]byte, 1)); err != nil {
		return nil, fmt.Errorf("%w: %w, %s", ErrRefused, cmd.Wait(), says.String())
	}
	mark(thread)
	f()
	mark(thread)
	data, err := io.ReadAll(log)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%w, %s", err, says.String())
	}
	for address := range slices.Chunk(data, 8) {
		addresses = append(addresses, uintptr(binary.NativeEndian.Uint64(address)))
	}
	return addresses, nil
}

// pin has a thread, and what it starts, stay on the processor that it is on.
func pin(thread int) (undo func(), err error) {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(thread, &all); err != nil {
		return nil, err
	}
	var cpu uint32
	if _, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); err != 0 {
		return nil, err
	}
	one.Set(int(cpu))
	return func() { _ = unix.SchedSetaffinity(thread, &all) }, unix.SchedSetaffinity(thread, &one)
}

// mark stops the thread for its tracer, at the beginning and at the end. It never gets the signal.
func mark(thread int) {
	if err := unix.Tgkill(os.Getpid(), thread, unix.SIGSTOP); err != nil {
		panic(err)
	}
}

// function is where the instructions of one begin and end.
type function struct{ Entry, End uint64 }

// tracee is a thread that stops at what prefetches in some of its functions, and is stepped through whatever it has not been to before.
type tracee struct {
	thread      int
	functions   []function
	breakpoints map[uint64][]byte       // and the byte that was there: at prefetches, and where nothing has been executed, but may be next
	prefetches  map[uint64]*instruction // that have been come to
	executed    map[uint64]bool         // instructions, but for jumps that may go elsewhere the next time
	log         []byte
}

// trace writes what the thread prefetches between two marks.
func trace(thread int) error {
	runtime.LockOSThread() // since it is one thread that traces another
	t := tracee{thread: thread, breakpoints: make(map[uint64][]byte), prefetches: make(map[uint64]*instruction), executed: make(map[uint64]bool)}
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	t.functions = make([]function, len(data)/binary.Size(function{}))
	if _, err := binary.Decode(data, binary.NativeEndian, t.functions); err != nil {
		return err
	}
	if err := unix.PtraceSeize(thread); err != nil {
		return err
	}
	if _, err := os.Stdout.Write([]byte{0}); err != nil {
		return err
	}
	begin := func() error { return unix.PtraceCont(thread, 0) }
	end := func() error { return unix.PtraceDetach(thread) }
	for _, do := range []func() error{t.toMark, t.setBreakpoints, begin, t.toMark, t.clearBreakpoints, end} {
		if err := do(); err != nil {
			return err
		}
	}
	_, err = os.Stdout.Write(t.log)
	return err
}

// assembly returns the functions of this module that are written in it, in their order.
var assembly = sync.OnceValues(func() ([]function, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := elf.Open(self)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Type != elf.ET_EXEC {
		return nil, errors.New("functions are not where the program says")
	}
	lines, text := file.Section(".gopclntab"), file.Section(".text")
	if lines == nil || text == nil {
		return nil, errors.New("the program says nothing of its functions")
	}
	data, err := lines.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	var functions []function
	module := strings.TrimSuffix(reflect.TypeFor[tracee]().PkgPath(), "/internal/trace")
	for _, f := range table.Funcs {
		if source, _, _ := table.PCToLine(f.Entry); strings.HasPrefix(f.Name, module) && strings.HasSuffix(source, ".s") {
			functions = append(functions, function{f.Entry, f.End})
		}
	}
	if len(functions) == 0 {
		return nil, errors.New("there is no assembly")
	}
	slices.SortFunc(functions, func(a, b function) int { return cmp.Compare(a.Entry, b.Entry) })
	return functions, nil
})

func (t *tracee) within(address uint64) bool {
	i, found := slices.BinarySearchFunc(t.functions, address, func(f function, address uint64) int { return cmp.Compare(f.Entry, address) })
	return found || i > 0 && address < t.functions[i-1].End
}

func (t *tracee) setBreakpoints() error {
	for _, f := range t.functions {
		if err := t.setBreakpoint(f.Entry); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracee) setBreakpoint(address uint64) error {
	if _, set := t.breakpoints[address]; set {
		return nil
	}
	was, err := t.code(address, 1)
	if err != nil {
		return err
	}
	t.breakpoints[address] = was
	return t.poke(address, []byte{breakpoint})
}

func (t *tracee) clearBreakpoint(address uint64) error {
	was, set := t.breakpoints[address]
	if !set {
		return nil
	}
	delete(t.breakpoints, address)
	return t.poke(address, was)
}

func (t *tracee) clearBreakpoints() error {
	for at, was := range t.breakpoints {
		if err := t.poke(at, was); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracee) code(address uint64, n int) ([]byte, error) {
	code := make([]byte, n)
	_, err := unix.PtracePeekText(t.thread, uintptr(address), code)
	return code, err
}

const breakpoint = 0xcc // int3

func (t *tracee) poke(address uint64, data []byte) error {
	_, err := unix.PtracePokeText(t.thread, uintptr(address), data)
	return err
}

// wait waits for the thread to stop, and returns what stopped it.
func (t *tracee) wait() (syscall.Signal, error) {
	var status unix.WaitStatus
	// Raw: Go would look for another thread to go on meanwhile, and tracing took 1.4 times as long.
	if _, _, err := unix.RawSyscall6(unix.SYS_WAIT4, uintptr(t.thread), uintptr(unsafe.Pointer(&status)), unix.WALL, 0, 0, 0); err != 0 {
		return 0, err
	}
	if !status.Stopped() {
		return 0, errors.New("the thread has ended")
	}
	return status.StopSignal(), nil
}

// toMark lets the thread run to the next mark, but for breakpoints.
func (t *tracee) toMark() error {
	pending := syscall.Signal(0)
	for {
		stopped, err := t.wait()
		switch {
		case err != nil:
			return err
		case stopped == unix.SIGSTOP:
			return nil
		case stopped == unix.SIGTRAP:
			if pending, err = t.step(); err != nil {
				return err
			}
		default:
			pending = stopped
		}
		if err := unix.PtraceCont(t.thread, int(pending)); err != nil {
			return err
		}
	}
}

// step goes from a breakpoint on until the thread is in none of the functions, or at what has been executed before and does not prefetch. It
// returns a signal for it that came meanwhile, or 0.
func (t *tracee) step() (pending syscall.Signal, err error) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.thread, &regs); err != nil {
		return 0, err
	}
	regs.Rip-- // int3 is done
	if err := unix.PtraceSetRegs(t.thread, &regs); err != nil {
		return 0, err
	}
	for t.within(regs.Rip) {
		if in := t.prefetches[regs.Rip]; in != nil { // which is left out, since nothing depends on it
			t.log = binary.NativeEndian.AppendUint64(t.log, in.address(&regs))
			regs.Rip += in.length
			continue
		}
		if t.executed[regs.Rip] {
			break
		}
		at := regs.Rip
		if err := t.clearBreakpoint(at); err != nil {
			return 0, err
		}
		code, err := t.code(at, 16)
		if err != nil {
			return 0, err
		}
		if unknown(code) {
			return 0, fmt.Errorf("%#x: % x: where that goes on cannot be said", at, code)
		}
		t.executed[at] = true
		if in := decode(code); in != nil {
			t.prefetches[at] = in
			if err := t.setBreakpoint(at); err != nil {
				return 0, err
			}
			continue
		}
		if err := unix.PtraceSetRegs(t.thread, &regs); err != nil {
			return 0, err
		}
		for stopped := syscall.Signal(0); stopped != unix.SIGTRAP; {
			if err := unix.PtraceSingleStep(t.thread); err != nil {
				return 0, err
			}
			if stopped, err = t.wait(); err != nil {
				return 0, err
			}
			if stopped != unix.SIGTRAP { // before the step
				pending = stopped
			}
		}
		if err := unix.PtraceGetRegs(t.thread, &regs); err != nil {
			return 0, err
		}
		if regs.Rip == at {
			return 0, fmt.Errorf("%#x: % x: it has not been executed in one step", at, code)
		}
		if jumpsAnywhere(code) { // the next time it may go elsewhere
			delete(t.executed, at)
			if err := t.setBreakpoint(at); err != nil {
				return 0, err
			}
		}
		for _, next := range branch(code, at) {
			if next != regs.Rip && t.within(next) && !t.executed[next] {
				if err := t.setBreakpoint(next); err != nil {
					return 0, err
				}
			}
		}
	}
	return pending, unix.PtraceSetRegs(t.thread, &regs)
}

// branch returns where the program may go on behind the conditional jump at an address, or behind what a call there calls, and nothing for
// any other instruction.
func branch(code []byte, at uint64) []uint64 {
	switch {
	case code[0]&0xf0 == 0x70, code[0]&0xfc == 0xe0: // also JCXZ and LOOP
		next := at + 2
		return []uint64{next, next + uint64(int8(code[1]))}
	case code[0] == 0x0f && code[1]&0xf0 == 0x80:
		next := at + 6
		return []uint64{next, next + uint64(int32(binary.LittleEndian.Uint32(code[2:])))}
	case code[0] == 0xe8:
		return []uint64{at + 5}
	}
	return nil
}

// jumpsAnywhere reports whether code begins with a jump to what is in a register or in memory. In this module only those to mutants are.
func jumpsAnywhere(code []byte) bool { return extended(code) == 4 }

// unknown reports whether code begins with a call of what is there, or with a prefix that branch does not know. There is none in this module.
func unknown(code []byte) bool { return extended(code) == 2 || code[0] == 0x67 }

// extended returns the operation of an instruction 0xff, or -1 for any other.
func extended(code []byte) int {
	if code[0]&0xf0 == 0x40 {
		code = code[1:]
	}
	if code[0] != 0xff {
		return -1
	}
	return int(code[1] >> 3 & 7)
}

// instruction is one that prefetches from memory: base + index*scale + offset.
type instruction struct {
	length      uint64 // in bytes
	base, index int    // numbers of registers, or none
	scale       uint64
	offset      int64
}

const none = -1

// decode returns the instruction that code begins with, if it prefetches.
func decode(code []byte) *instruction {
	all := len(code)
	rex := byte(0)
	if code[0]&0xf0 == 0x40 {
		rex, code = code[0], code[1:]
	}
	if code[0] != 0x0f || code[1] != 0x18 && code[1] != 0x0d {
		return nil
	}
	mod, hint, base := code[2]>>6, code[2]>>3&7, int(code[2]&7)
	if mod == 3 || hint > 3 {
		return nil
	}
	code = code[3:]
	in := instruction{base: base, index: none, scale: 1}
	if base == 4 { // SIB
		in.scale, in.index, in.base = 1<<(code[0]>>6), int(code[0]>>3&7)|int(rex&2)<<2, int(code[0]&7)
		if in.index == 4 {
			in.index = none
		}
		code = code[1:]
	}
	if mod == 0 && in.base == 5 {
		panic("an address without a base")
	}
	in.base |= int(rex&1) << 3
	switch mod {
	case 1:
		in.offset, code = int64(int8(code[0])), code[1:]
	case 2:
		in.offset, code = int64(int32(binary.LittleEndian.Uint32(code))), code[4:]
	}
	in.length = uint64(all - len(code))
	return &in
}

func (in *instruction) address(r *unix.PtraceRegs) uint64 {
	regs := [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
	address := regs[in.base] + uint64(in.offset)
	if in.index != none {
		address += in.scale * regs[in.index]
	}
	return address
}
