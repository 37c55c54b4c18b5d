package asmcheck

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rowvec/rowvec/internal/isatest"
)

// root is the directory of package rowvec, prefix what its functions are called in a linked program.
const (
	root   = "../.."
	prefix = "github.com/rowvec/rowvec."
)

// triples are what tools for an architecture are called after where they are not those of the host.
var triples = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// missing skips a test that has no tool, or fails it where ROWVEC_REQUIRE_OBJDUMP=1 promises one.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("ROWVEC_REQUIRE_OBJDUMP") == "1" {
		t.Fatalf("ROWVEC_REQUIRE_OBJDUMP=1, but %s", what)
	}
	t.Skipf("THE ASSEMBLY IS NOT CHECKED: %s", what)
}

// binutil returns the GNU objdump or as that knows arch.
func binutil(t *testing.T, arch, name string) string {
	t.Helper()
	names := []string{triples[arch] + "-" + name}
	if runtime.GOARCH == arch {
		names = append(names, name)
	}
	for _, name := range names {
		if version, err := exec.Command(name, "--version").Output(); err == nil && strings.HasPrefix(string(version), "GNU") {
			return name
		}
	}
	missing(t, fmt.Sprintf("there is no GNU %s for %s (looked for %v)", name, arch, names))
	return ""
}

// marches are the instruction sets that the endings of names stand for, as GNU as knows them.
var marches = map[string]string{
	"AVX2":   "generic64+avx2",
	"AVX512": "generic64+avx512f+avx512bw+avx512dq+avx512vl",
	"NEON":   "armv8-a",
}

// unsupported returns a problem for each instruction of a function that the instruction set in its name does not have.
func unsupported(t *testing.T, tool string, f Function) (problems []string) {
	t.Helper()
	for suffix, march := range marches {
		if !strings.HasSuffix(f.Name, suffix) {
			continue
		}
		cmd := exec.Command(tool, "-march="+march, "-o", os.DevNull, "-")
		cmd.Stdin = strings.NewReader(Assembler(f.Code))
		out, err := cmd.CombinedOutput()
		for _, m := range regexp.MustCompile(`(?m)^.*?:(\d+): Error: (.*)`).FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(m[1])
			problems = append(problems, fmt.Sprintf("%s: %x: %s", f.Name, f.Code[line-1].Address, m[2]))
		}
		if err != nil && problems == nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		return problems
	}
	return []string{f.Name + ": no instruction set in the name"}
}

// output runs a command and returns what it prints.
func output(t *testing.T, env []string, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(append(os.Environ(), "LC_ALL=C"), env...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}

// TestAssembly builds the tests of package rowvec for each architecture that has assembly, and checks what was linked.
func TestAssembly(t *testing.T) {
	if isatest.Sampled() || os.Getenv("ROWVEC_EMULATED") != "" {
		t.Skip("what is linked is the same natively, and checked there")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			dir := os.DirFS(root)
			names, problems, err := Functions(dir, arch)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Error(p)
			}
			problems, err = Dispatch(dir, arch)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Error(p)
			}
			tool, assembler := binutil(t, arch, "objdump"), binutil(t, arch, "as")
			if _, err := exec.LookPath("go"); err != nil {
				missing(t, err.Error())
			}
			functions, problems := disassemble(t, tool, arch, link(t, arch), names)
			instructions := 0
			for _, f := range functions {
				instructions += len(f.Code)
				problems = append(problems, Check(arch, f)...)
				problems = append(problems, unsupported(t, assembler, f)...)
				for _, near := range functions {
					if near.Name == NearName(f.Name) && f.Near != 0 {
						if d := Different(f, near); d != "" {
							problems = append(problems, d)
						}
					}
				}
			}
			numbers, wrong := words(t, tool, arch, dir)
			problems = append(problems, wrong...)
			for _, p := range problems {
				t.Error(p)
			}
			t.Logf("%d functions, %d instructions; %d given as numbers", len(functions), instructions, numbers)
		})
	}
}

// link builds package rowvec, with its tests so that every kernel is reached, and with symbols.
func link(t *testing.T, arch string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "rowvec.test")
	env := []string{"GOOS=linux", "GOARCH=" + arch, "CGO_ENABLED=0"}
	output(t, env, root, "go", "test", "-c", "-tags=", "-race=false", "-o", program, ".")
	return program
}

// disassemble returns those of the named functions that the program holds, and a problem for each other.
func disassemble(t *testing.T, tool, arch, program string, names []string) (functions []Function, problems []string) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) int {
		return slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == prefix+name })
	}
	var places []elf.Symbol
	for _, name := range names {
		i, near := find(name+".abi0"), uint64(0)
		if j := find(NearName(name)); j >= 0 && NearName(name) != name {
			near = symbols[j].Value
		}
		if nearLevel.MatchString(name) {
			i = find(name)
		}
		if i < 0 {
			problems = append(problems, name+": not in the linked program")
			continue
		}
		functions = append(functions, Function{Name: name, Near: near})
		places = append(places, symbols[i])
	}
	if len(places) == 0 {
		return nil, problems
	}
	// All at once, with what stands between them: an objdump for each of 161 functions takes 11.0 s, and so the test takes 4.7.
	first, last := uint64(math.MaxUint64), uint64(0)
	for _, s := range places {
		first, last = min(first, s.Value), max(last, s.Value+s.Size)
	}
	args := []string{"-d", fmt.Sprintf("--start-address=%#x", first), fmt.Sprintf("--stop-address=%#x", last)}
	if arch == "amd64" {
		args = append(args, "--insn-width=15") // an instruction, however long, on one line
	}
	code := Parse(output(t, nil, "", tool, append(args, program)...))
	index := func(address uint64) int {
		return sort.Search(len(code), func(i int) bool { return code[i].Address >= address })
	}
	for i, s := range places {
		functions[i].Code = code[index(s.Value):index(s.Value+s.Size)]
	}
	return functions, problems
}

// words has every instruction that the sources give as a number decoded, compares it with its comment, and counts them.
func words(t *testing.T, tool, arch string, dir fs.FS) (n int, problems []string) {
	t.Helper()
	sources, err := Sources(dir, arch)
	if err != nil {
		t.Fatal(err)
	}
	var all []Word
	for name, source := range sources {
		words, wrong := Words(arch, name, source)
		all, problems = append(all, words...), append(append(problems, wrong...), Fences(name, source)...)
	}
	if len(all) == 0 {
		return 0, problems
	}
	return len(all), append(problems, compare(t, tool, all)...)
}

func compare(t *testing.T, tool string, words []Word) (problems []string) {
	t.Helper()
	var raw []byte
	for _, w := range words {
		raw = binary.LittleEndian.AppendUint32(raw, w.Value)
	}
	name := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	code := Parse(output(t, nil, "", tool, "-D", "-z", "-b", "binary", "-m", "aarch64", name))
	if len(code) != len(words) {
		t.Fatalf("objdump shows %d instructions for %d words", len(code), len(words))
	}
	for i, w := range words {
		if got := strings.TrimSpace(code[i].Mnemonic + " " + code[i].Operands); got != w.Want {
			problems = append(problems, fmt.Sprintf("%s: %#08x is %q, its comment says %q", w.Where, w.Value, got, w.Want))
		}
	}
	return problems
}

// TestMistakesAreFound shows each check what it is there for.
func TestMistakesAreFound(t *testing.T) {
	for _, test := range []struct {
		arch, function, listing, want string
	}{
		{"amd64", "fAVX2", "vmovups %ymm0,(%rdi)|vzeroupper|ret", ""},
		{"amd64", "fAVX512", "vaddps (%rsi),%zmm1,%zmm0|vzeroupper|ret", ""},
		{"amd64", "fAVX2", "vmovups %zmm0,(%rdi)|vzeroupper|ret", "AVX-512 in"},
		{"amd64", "fAVX2", "kmovw %eax,%k1|ret", "AVX-512 in"},
		{"amd64", "fAVX2", "EVEX vmovdqu32 (%rsi),%xmm1|ret", "AVX-512 in"},
		{"amd64", "fAVX2", "vfmadd231ps %xmm0,%xmm1,%xmm2|ret", "fused"},
		{"amd64", "fAVX512", "vfnmsub213ss %xmm0,%xmm1,%xmm2|ret", "fused"},
		{"amd64", "fAVX2", "vgatherdps %xmm2,(%rsi,%xmm1,4),%xmm0|ret", "a gather"},
		{"amd64", "fAVX512", "vpscatterdd %xmm0,(%rsi,%xmm1,4)|ret", "a gather"},
		{"amd64", "fAVX2", "mov %rax,%r14|ret", "a register"},
		{"amd64", "fAVX2", "xor %r15d,%r15d|ret", "a register"},
		{"amd64", "fAVX2", "push %rbp|ret", "a register"},
		{"amd64", "fAVX2", "mov (%rsi),%ebp|ret", "a register"},
		{"amd64", "fAVX2", "mov 0x8(%rsp),%rbx|xchg %ax,%ax|movslq (%rbx),%rax|setb 0x10(%rsp)|ret", ""},
		{"amd64", "fAVX2", "sub $0x18,%rsp|ret", "the stack pointer"},
		{"amd64", "fAVX2", "mov %rax,-0x8(%rsp)|ret", "the stack pointer"},
		{"amd64", "fAVX2", "mov (%rsp),%rax|ret", "the stack pointer"},
		{"amd64", "fAVX2", "mov 0x8(%rsp,%rax,8),%rax|ret", "the stack pointer"},
		{"amd64", "fAVX2", "mov %rax,0x4(%rsp)|ret", "the stack pointer"},
		{"amd64", "fAVX2", "call 1002|ret|ret", "no use for"},
		{"amd64", "fAVX2", "push %rax|ret", "no use for"},
		{"amd64", "fAVX2", "ret $0x8", "no use for"},
		{"amd64", "fAVX2", "hlt|ret", "no use for"},
		{"amd64", "fAVX2", "ud2|ret", "no use for"},
		{"amd64", "fAVX2", "syscall|ret", "no use for"},
		{"amd64", "fAVX2", "std|ret", "no use for"},
		{"amd64", "fAVX2", "vldmxcsr (%rsi)|ret", "no use for"},
		{"amd64", "fAVX2", "lock add %eax,(%rsi)|ret", "no use for"},
		{"amd64", "fAVX2", "xchg %eax,(%rsi)|ret", "no use for"},
		{"amd64", "fAVX2", "fldz|ret", "no use for"},
		{"amd64", "fAVX2", "addps %xmm0,%xmm1|ret", "SSE"},
		{"amd64", "fAVX2", "movq %xmm0,%rax|ret", "SSE"},
		{"amd64", "fAVX2", "prefetcht1 (%rsi)|ret", ""},
		{"amd64", "fAVX2", "prefetcht0 (%rsi)|ret", "the wrong cache"},
		{"amd64", "addProductAVX2", "prefetcht0 0x40(%r10)|ret", ""},
		{"amd64", "addProductAVX2", "prefetcht0 0x40(%r13)|ret", "the wrong cache"},
		{"amd64", "dotsAVX2", "prefetcht0 0x40(%r10)|ret", "the wrong cache"},
		{"amd64", "fNearAVX512", "prefetcht0 (%rsi)|ret", ""},
		{"amd64", "fNearAVX512", "prefetcht1 (%rsi)|ret", "the wrong cache"},
		{"amd64", "fNearAVX2", "prefetchnta (%rsi)|ret", "the wrong cache"},
		{"amd64", "fAVX2", "(bad)|ret", "no instruction"},
		{"amd64", "fAVX2", "vmovups %ymm0,(%rdi)|ret", "without VZEROUPPER"},
		{"amd64", "fAVX512", "vzeroupper|vmovups %zmm0,(%rdi)|ret", "without VZEROUPPER"},
		{"amd64", "fAVX2", "vmovups %ymm0,(%rdi)|je 1003 <f+0x3>|vzeroupper|ret", "without VZEROUPPER"},
		{"amd64", "fAVX2", "je 1003 <f+0x3>|vmovups %ymm0,(%rdi)|vzeroupper|ret", ""},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|sfence|ret", ""},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|ret", "without SFENCE"},
		{"amd64", "fAVX512", "sfence|vmovntpd %xmm0,(%rdi)|ret", "without SFENCE"},
		{"amd64", "fAVX2", "vmovntdq %xmm0,(%rdi)|je 1003|sfence|ret", "without SFENCE"},
		{"amd64", "fAVX2", "cmpb $0x0,(%rbx)|je 1003|vmovntps %xmm0,(%rdi)|cmpb $0x0,(%rbx)|je 1006|sfence|ret", ""},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|cmpb $0x0,(%rbx)|je 1004|sfence|ret", "without SFENCE"},
		{"amd64", "fAVX2", "cmpb $0x0,(%rbx)|je 1003|vmovntps %xmm0,8|cmpb $0x0,(%rbx)|jne 1006|sfence|ret", "without SFENCE"},
		{"amd64", "fAVX2", "cmpb $0x0,(%rbx)|je 1003|vmovntps %xmm0,8|cmpb $0x0,(%rcx)|je 1006|sfence|ret", "without SFENCE"},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|cmp 0x8(%rbx),%r9|je 1004|sfence|ret", ""},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|cmp 0x8(%rbx),%r8|je 1004|sfence|ret", "without SFENCE"},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|cmp 0x8(%rcx),%r9|je 1004|sfence|ret", "without SFENCE"},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|cmp 0x8(%rbx),%r9|jne 1004|sfence|ret", "without SFENCE"},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|cmp 0x8(%rbx),%r9|je 1005|sfence|nop|ret", "without SFENCE"},
		{"amd64", "fAVX2", "vmovntps %xmm0,(%rdi)|cmp 0x8(%rbx),%r9|je 1004|nop|ret", "without SFENCE"},
		{"amd64", "fAVX2", "jmp 2000 <g>|ret", "leaves the function"},
		{"amd64", "fAVX2", "jmp *%rax|ret", "no fixed place"},
		{"amd64", "fAVX2", "je 1002|ret|nop", "runs off the end"},
		{"amd64", "fAVX2", "jmp 1000", "no return"},
		{"arm64", "fNEON", "ccmp x7, x10, #0x2, cc|umaddl x25, w25, w9, x2|ret", ""},
		{"arm64", "fNEON", "madd x5, x5, x9, x2|add x8, x8, #0x18|fmul v0.4s, v0.4s, v31.4s|ret", ""},
		{"arm64", "fNEON", "fmla v0.4s, v1.4s, v2.4s|ret", "fused"},
		{"arm64", "fNEON", "fmls v0.4s, v1.4s, v2.s[0]|ret", "fused"},
		{"arm64", "fNEON", "fmadd s0, s1, s2, s3|ret", "fused"},
		{"arm64", "fNEON", "fnmsub s0, s1, s2, s3|ret", "fused"},
		{"arm64", "fNEON", "ldr x18, [x0]|ret", "a register"},
		{"arm64", "fNEON", "mov w26, w0|ret", "a register"},
		{"arm64", "fNEON", "add x27, x5, #0x400|ret", "a register"},
		{"arm64", "fNEON", "mov x28, x0|ret", "a register"},
		{"arm64", "fNEON", ".inst 0x00c0ffee // undefined|ret", "no instruction"},
		{"arm64", "fNEON", "udf #1|ret", "no instruction"},
		{"arm64", "fNEON", "mov x29, x0|ret", "a register"},
		{"arm64", "fNEON", "ldp x29, x30, [sp, #8]|ret", "a register"},
		{"arm64", "fNEON", "ldr x0, [sp, #8]|strb w1, [sp, #16]|ret", ""},
		{"arm64", "fNEON", "sub sp, sp, #0x10|ret", "the stack pointer"},
		{"arm64", "fNEON", "str x0, [sp, #-16]!|ret", "the stack pointer"},
		{"arm64", "fNEON", "ldr x0, [sp], #16|ret", "the stack pointer"},
		{"arm64", "fNEON", "add x1, x0, w2, uxtw|mov w1, wsp|ret", "the stack pointer"},
		{"arm64", "fNEON", "bl 1001|ret", "no use for"},
		{"arm64", "fNEON", "svc #0x0|ret", "no use for"},
		{"arm64", "fNEON", "brk #0x1|ret", "no use for"},
		{"arm64", "fNEON", "msr fpcr, x0|ret", "no use for"},
		{"arm64", "fNEON", "mrs x0, s3_3_c14_c0_2|ret", "no use for"},
		{"arm64", "fNEON", "ldxr x0, [x1]|ret", "no use for"},
		{"arm64", "fNEON", "ret x1", "no use for"},
		{"arm64", "fNEON", "cbz x0, 1002|b.ne 1000|ret", ""},
		{"arm64", "fNEON", "tbz w15, #0, 2000|ret", "leaves the function"},
		{"arm64", "fNEON", "b 2000|ret", "leaves the function"},
		{"arm64", "fNEON", "cbnz x0, 1000|b.eq 1000|ret|nop", ""},
		{"arm64", "fNEON", "cbz x0, 1002|ret|nop", "runs off the end"},
		{"arm64", "fNEON", "b 1000", "no return"},
	} {
		problems := Check(test.arch, function(test.function, test.listing))
		expect(t, test.function+": "+test.listing, problems, test.want)
	}
}

// TestMacrosAreUsed finds macros that are defined and nowhere else, by architecture.
func TestMacrosAreUsed(t *testing.T) {
	if unused := unusedMacros("#define A(x) B(x)\n#define B(x) x // C\n#define C\nTEXT A(1)\n"); !slices.Equal(unused, []string{"C"}) {
		t.Fatalf("unused are %v, want C", unused)
	}
	for arch := range triples {
		files, err := filepath.Glob(filepath.Join(root, "*_"+arch+".[sh]"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no assembly of %s: error %v", arch, err)
		}
		var text strings.Builder
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		if unused := unusedMacros(text.String()); len(unused) > 0 {
			t.Errorf("%s: not used are the macros %s", arch, strings.Join(unused, ", "))
		}
	}
}

// unusedMacros returns the macros of a text that it has in no other place than where they are defined, and in comments.
func unusedMacros(text string) (names []string) {
	text = regexp.MustCompile(`//.*`).ReplaceAllString(text, "")
	seen := map[string]int{}
	for _, name := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
		seen[name]++
	}
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+)`).FindAllStringSubmatch(text, -1) {
		if seen[m[1]] == 1 {
			names = append(names, m[1])
		}
	}
	return names
}

// TestNearKernels: a function with a near kernel has to have a jump there, which is no way out behind a Y register.
func TestNearKernels(t *testing.T) {
	for _, test := range []struct{ listing, want string }{
		{"cmpb $0x0,0x8(%rbx)|je 1003|jmp 2000|ret", ""},
		{"cmpb $0x0,0x8(%rbx)|je 1003|jmp 3000|ret", "leaves the function"},
		{"vmovups %ymm0,(%rdi)|je 1003|jmp 2000|vzeroupper|ret", "leaves the function"},
		{"vmovntps %xmm0,(%rdi)|je 1003|jmp 2000|sfence|ret", "leaves the function"},
		{"ret", "its near kernel is not reached"},
	} {
		f := function("fAVX2", test.listing)
		f.Near = 0x2000
		expect(t, test.listing, Check("amd64", f), test.want)
	}
	const head, body = "mov 0x8(%rsp),%rbx|cmpb $0x0,0x8(%rbx)|je 1004|jmp 2000|", "prefetcht1 (%rsi)|je 1006|add $0x1,%rax|lea 0x5(%rip),%rcx|ret"
	for _, test := range []struct{ near, want string }{
		{"prefetcht0 (%rsi)|je 1002|add $0x1,%rax|lea 0x7(%rip),%rcx|ret", ""},
		{"prefetcht0 (%rsi)|je 1003|nop|add $0x1,%rax|lea 0x7(%rip),%rcx|ret", ""},
		{"prefetcht0 (%rsi)|je 1003|add $0x1,%rax|lea 0x7(%rip),%rcx|ret", "behind 1 instructions"},
		{"prefetcht0 (%rsi)|je 1002|add $0x2,%rax|lea 0x7(%rip),%rcx|ret", "behind 2 instructions"},
		{"prefetcht0 (%rsi)|je 1002|add $0x1,%rax|lea 0x7(%rip),%rcx", "behind 4 instructions"},
		{"prefetcht0 (%rsi)|je 1002|add $0x1,%rax|lea 0x7(%rip),%rcx|ret|ret", "behind 5 instructions"},
	} {
		var problems []string
		if d := Different(function("fAVX2", head+body), function("fNearAVX2", test.near)); d != "" {
			problems = append(problems, d)
		}
		expect(t, test.near, problems, test.want)
	}
}

// function returns a function of instructions that | separates, one at each address from 1000 on.
func function(name, code string) Function {
	var listing strings.Builder
	for i, line := range strings.Split(code, "|") {
		line, evex := strings.CutPrefix(line, "EVEX ")
		bytes := "c5 fc 10"
		if evex {
			bytes = "62 f1 7e"
		}
		mnemonic, operands, _ := strings.Cut(line, " ")
		fmt.Fprintf(&listing, "    %x:\t%s \t%s\t%s\n", 0x1000+i, bytes, mnemonic, operands)
	}
	return Function{Name: name, Code: Parse("f:     file format elf64\n\n" + listing.String())}
}

// TestInstructionSets has instructions that levels have, and some that later processors brought.
func TestInstructionSets(t *testing.T) {
	for _, test := range []struct {
		arch, function, code, want string
	}{
		{"amd64", "fAVX2", "mov 0x8(%rsp),%rbx|vpermps (%rsi),%ymm1,%ymm0|jne 1001 <f+0x1>|vzeroupper|ret", ""},
		{"amd64", "fAVX2", "vpaddd %zmm0,%zmm1,%zmm2", "zmm0"},
		{"amd64", "fAVX2", "vpaddd %xmm16,%xmm1,%xmm2", "xmm16"},
		{"amd64", "fAVX2", "vpternlogd $0x1,%xmm0,%xmm1,%xmm2", "vpternlogd"},
		{"amd64", "fAVX2", "vcvtph2ps %xmm0,%ymm0", "vcvtph2ps"},
		{"amd64", "fAVX2", "bzhi %r12d,%edx,%edx", "bzhi"},
		{"amd64", "fAVX2", "vpdpbusd %ymm0,%ymm1,%ymm2", "vpdpbusd"},
		{"amd64", "fAVX512", "vpermw %zmm0,%zmm1,%zmm2|vpmullq %ymm16,%ymm1,%ymm2|kmovb %eax,%k1", ""},
		{"amd64", "fAVX512", "bzhi %r12d,%edx,%edx", "bzhi"},
		{"amd64", "fAVX512", "vpermb %zmm0,%zmm1,%zmm2", "vpermb"},
		{"amd64", "fAVX512", "vpdpbusd %zmm0,%zmm1,%zmm2", "vpdpbusd"},
		{"amd64", "fAVX512", "vpopcntd %zmm0,%zmm1", "vpopcntd"},
		{"amd64", "fAVX512", "vcvtneps2bf16 %zmm0,%ymm0", "vcvtneps2bf16"},
		{"arm64", "fNEON", "adrp x1, 16b000 <f>|fmul v0.4s, v1.4s, v2.4s|cbz x1, 1001 <f+0x1>|b.cs 1000|ret", ""},
		{"arm64", "fNEON", "sdot v0.4s, v1.16b, v2.16b", "sdot"},
		{"arm64", "fNEON", "fadd v0.8h, v1.8h, v2.8h", "fadd"},
		{"arm64", "fNEON", "ldadd x0, x1, [x2]", "ldadd"},
		{"arm64", "fNEON", "fadd z0.s, z1.s, z2.s", "fadd"},
		{"arm64", "f", "ret", "no instruction set"},
	} {
		problems := unsupported(t, binutil(t, test.arch, "as"), function(test.function, test.code))
		expect(t, test.function+": "+test.code, problems, test.want)
	}
}

// expect wants a single problem that holds want, or none if want is empty.
func expect(t *testing.T, what string, problems []string, want string) {
	t.Helper()
	if want == "" && len(problems) > 0 || want != "" && (len(problems) != 1 || !strings.Contains(problems[0], want)) {
		t.Errorf("%s\nproblems %q, want one with %q", what, problems, want)
	}
}

func TestDeclarationsAreChecked(t *testing.T) {
	const (
		stub = "//go:noescape\nfunc fNEON(p *int)\n"
		call = "func f(p *int) { fNEON(p) }\n"
		text = "TEXT ·fNEON(SB), NOSPLIT, $0-8\n\tRET\n"
	)
	for _, test := range []struct{ goFile, asmFile, want string }{
		{stub + call, text, ""},
		{call, "", "no assembly function"},
		{stub + call, "", "not defined"},
		{stub + call, text + strings.ReplaceAll(text, "fNEON", "gNEON"), "gNEON is not declared"},
		{"func fNEON(p *int)\n" + call, text, "no //go:noescape"},
		{strings.ReplaceAll(stub+call, "NEON", "Fast"), strings.ReplaceAll(text, "NEON", "Fast"), "does not end in"},
	} {
		_, problems, err := Functions(fstest.MapFS{
			"k_arm64.go": {Data: []byte("package k\n\n" + test.goFile)},
			"k_arm64.s":  {Data: []byte(test.asmFile)},
		}, "arm64")
		if err != nil {
			t.Error(err)
		}
		expect(t, test.goFile+test.asmFile, problems, test.want)
	}
	for near, want := range map[string]string{"fNearAVX2": "", "gNearAVX2": "the near kernel of none", "fNearAVX512": "the near kernel of none"} {
		_, problems, err := Functions(fstest.MapFS{
			"k_amd64.go": {Data: []byte("package k\n\n" + strings.ReplaceAll(stub+call, "NEON", "AVX2"))},
			"k_amd64.s":  {Data: []byte(strings.ReplaceAll(text, "NEON", "AVX2") + "TEXT ·" + near + "<>(SB), NOSPLIT, $0-8\n\tRET\n")},
		}, "amd64")
		if err != nil {
			t.Error(err)
		}
		expect(t, near, problems, want)
	}
}

func TestFencesAreChecked(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"\tVZEROUPPER\n\tSFENCE\n", ""},
		{"\tCMPQ R9, rowArgs_n(BX)\n\tJLT row\n\tVZEROUPPER\n\tSFENCE\n", ""},
		{"\tCMPB dropoutArgs_stream(BX), $0; \\\n\tJEQ  2(PC);                      \\\n\tSFENCE\n", ""},
		{"\tCMPQ R9, rowArgs_unfenced(BX); \\\n\tJEQ  2(PC);                    \\\n\tSFENCE\n", ""},
		{"\tCMPQ R9, rowArgs_n(BX); \\\n\tJEQ  2(PC); \\\n\tSFENCE\n", "decides on SFENCE"},
		{"\tCMPQ R9, rowArgs_n(BX)\n\tJEQ  end // all\n\tSFENCE\n", "decides on SFENCE"},
		{"\tCMPL R9, rowArgs_unfenced(BX)\n\tJEQ  2(PC)\n\tSFENCE\n", "decides on SFENCE"},
	} {
		expect(t, test.source, Fences("k_amd64.s", test.source), test.want)
	}
}

func TestWordsAreChecked(t *testing.T) {
	tool := binutil(t, "arm64", "objdump")
	const fmul = "#define VFMUL4S(m, n, d) WORD $(0x6E20DC00|(m)<<16|(n)<<5|(d)) // fmul v{d}.4s, v{n}.4s, v{m}.4s\n"
	for _, test := range []struct{ source, want string }{
		{fmul, ""},
		{"\tWORD $0x6E23DC41 // fmul v1.4s, v2.4s, v3.4s\n", ""},
		{"\tWORD $0x4E23D441 // fmul v1.4s, v2.4s, v3.4s\n", `is "fadd v1.4s, v2.4s, v3.4s"`},
		{strings.Replace(fmul, "0x6E20DC00", "0x4E20D400", 1), `is "fadd`},
		{strings.Replace(fmul, "v{n}.4s, v{m}.4s", "v{m}.4s, v{n}.4s", 1), "its comment says"},
		{strings.Replace(fmul, "<<5", "<<6", 1), "its comment says"},
		{"\tWORD $0x6E23DC41\n", "no form that is checked"},
		{"\tADD $1, R0; WORD $0x6E23DC41 // fmul v1.4s, v2.4s, v3.4s\n", "no form that is checked"},
		{"#define ODD WORD $0x6E23DC41; \\\n", "no form that is checked"},
		{strings.Replace(fmul, "(m)<<16", "(x)<<16", 1), "undefined"},
		{"// WORD in a comment\n", ""},
	} {
		words, problems := Words("arm64", "k_arm64.s", test.source)
		if len(words) > 0 {
			problems = append(problems, compare(t, tool, words)...)
		}
		if test.want != "" && len(problems) > 1 { // one for many registers
			problems = problems[:1]
		}
		expect(t, test.source, problems, test.want)
	}
	if _, problems := Words("amd64", "k_amd64.s", "\tBYTE $0x90\n"); len(problems) != 1 {
		t.Errorf("BYTE on amd64: problems %q, want one", problems)
	}
}
