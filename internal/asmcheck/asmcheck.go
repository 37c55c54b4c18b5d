// Package asmcheck holds the assembly of package rowvec to what its names and comments claim. It reads the sources, and
// what GNU objdump makes of the linked program, since an assembler may turn a line into something else than it says; GNU
// as then says whether that belongs to an instruction set. Command neonmca uses its parser.
package asmcheck

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Instruction is one line of a disassembly.
type Instruction struct {
	Address  uint64
	Bytes    string // as objdump prints them, in hexadecimal
	Mnemonic string
	Operands string
}

// Function is the disassembly of one function; Name is its name in Go. Near is where the near kernel begins that it may go on as, or 0.
type Function struct {
	Name string
	Code []Instruction
	Near uint64
}

var (
	level     = regexp.MustCompile(`(AVX2|AVX512)$`)
	nearLevel = regexp.MustCompile(`Near(AVX2|AVX512)$`)
)

// NearName returns the name of the near kernel of a function: the same, but that it prefetches into the first-level cache.
func NearName(name string) string { return level.ReplaceAllString(name, "Near$1") }

// prefetches returns what a function of this name prefetches by.
func prefetches(name string) string {
	if nearLevel.MatchString(name) {
		return "prefetcht0"
	}
	return "prefetcht1"
}

// weight is what products prefetch besides rows: a line that many rows of theirs share.
var weight = regexp.MustCompile(`^addProductAVX\d+: prefetcht0 0x40\(%r10\)$`)

// nearHead is how many instructions a function has in front of what its near kernel has as well: MOVQ, CMPB, JEQ and JMP.
const nearHead = 4

var ofPC = regexp.MustCompile(`[-0-9a-fx]*\(%rip\)`)

// Different returns the first instruction of a near kernel that is not that of its function, or "". Both branch to the same of their
// instructions, and use the same addresses relative to the program counter, or what the linker has made of them.
func Different(f, near Function) string {
	bare := func(code []Instruction) (text []string) {
		code = slices.DeleteFunc(slices.Clone(code), func(in Instruction) bool {
			return strings.HasPrefix(in.Mnemonic, "nop") || in.Mnemonic == "xchg" || in.Mnemonic == "data16" || in.Mnemonic == "cs" || in.Mnemonic == "int3"
		})
		for _, in := range code {
			operands := ofPC.ReplaceAllString(in.Operands, "(%rip)")
			if target, ok := in.Target(); ok {
				operands = fmt.Sprint("to ", slices.IndexFunc(code, func(in Instruction) bool { return in.Address >= target }))
			}
			text = append(text, strings.Replace(in.Mnemonic, "prefetcht0", "prefetcht1", 1)+" "+operands)
		}
		return text
	}
	want, got := bare(f.Code[min(nearHead, len(f.Code)):]), bare(near.Code)
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			return fmt.Sprintf("%s differs from %s behind %d instructions", near.Name, f.Name, i)
		}
	}
	return ""
}

var (
	comment = regexp.MustCompile(`\s*(//|#\s).*`) // of objdump, behind an instruction
	symbol  = regexp.MustCompile(`\s*<[^>]*>`)
)

// Parse returns the instructions in the output of objdump -d; what it prints in between is skipped.
func Parse(listing string) []Instruction {
	var code []Instruction
	for line := range strings.Lines(listing) {
		address, rest, found := strings.Cut(strings.TrimSpace(line), ":\t")
		at, err := strconv.ParseUint(address, 16, 64)
		if !found || err != nil {
			continue
		}
		bytes, text, _ := strings.Cut(rest, "\t")
		text = symbol.ReplaceAllString(comment.ReplaceAllString(text, ""), "")
		fields := strings.Fields(text)
		in := Instruction{Address: at, Bytes: strings.TrimSpace(bytes)}
		if len(fields) > 0 {
			in.Mnemonic, in.Operands = fields[0], strings.Join(fields[1:], " ")
		}
		code = append(code, in)
	}
	return code
}

// rules is what Check knows of an architecture. Any other instruction than those of plain and of lanes is one that a
// kernel has no use for: calls, traps, system calls, atomics, changes of the stack or of rounding. Which of those that do
// belong to the instruction set of a level is for an assembler to say, which knows them all: see Assembler.
type rules struct {
	reserved *regexp.Regexp // registers that are not a kernel's: of Go's runtime, the system, the frame, the assembler
	argument *regexp.Regexp // a place of an argument or a result, the one use there is for the stack pointer
	stack    *regexp.Regexp // the stack pointer
	plain    *regexp.Regexp // instructions, with their operands, of general registers
	lanes    *regexp.Regexp // operands of vectors, scalars and masks
	fma      *regexp.Regexp
}

var (
	// wrong matches what objdump prints for bytes that are no instruction.
	wrong = regexp.MustCompile(`^(\(bad\)|\.|udf$)`)

	// The assembler itself writes R27 of arm64 where an offset does not fit; here it is as good as written in the source.
	architectures = map[string]rules{
		"amd64": {
			reserved: regexp.MustCompile(`%(r1[45][dwb]?|[re]?bp|bpl)\b`),
			argument: regexp.MustCompile(`(^|,)0x([89a-f]|[0-9a-f]{2,})\(%rsp\)`),
			stack:    regexp.MustCompile(`%([re]?sp|spl)\b`),
			plain: regexp.MustCompile(`^((mov(abs|[sz][bwl])?|lea|add|sub|sbb|imul|neg|inc|dec|and|or|xor|not|sh[lr]|sar|bts` +
				`|cmp|test|nop)[bwlq]? |(cmov|set|j)[a-z]+ |prefetch(t[012]|nta) |xchg %ax,%ax$|(ret|sfence|vzeroupper) $)`),
			lanes: regexp.MustCompile(`%([xyz]mm\d+|k[0-7])\b`),
			fma:   regexp.MustCompile(`^v4?fn?m(add|sub)`),
		},
		"arm64": {
			reserved: regexp.MustCompile(`\b[xw](18|26|27|28|29|30)\b`),
			argument: regexp.MustCompile(`\[sp, #\d+\]$`),
			stack:    regexp.MustCompile(`\bw?sp\b`),
			plain: regexp.MustCompile(`^((mov[kzn]?|(add|sub|and)s?|orr|eor|bic|mul|m(add|sub|neg)|umaddl|neg|ls[lr]|asr|cc?mp|cmn|tst` +
				`|csel|cset|csinc|(ldu?r|stu?r)(s?[bhw])?|ldp|stp|prfu?m|adrp?|b|b\.[a-z]+|cbn?z|tbn?z) |(nop|ret) $)`),
			lanes: regexp.MustCompile(`\b[vqdsh]([12]?\d|3[01])\b`),
			fma:   regexp.MustCompile(`^(fn?m(add|sub)|fml[as]|fcmla|bfm|bfdot)`),
		},
	}

	gatherAMD64 = regexp.MustCompile(`^vp?(gather|scatter)`)
	vexAMD64    = regexp.MustCompile(`^[vk]`)
	streamAMD64 = regexp.MustCompile(`^vmovnt(dq|p[sd])$`)
	wideAMD64   = regexp.MustCompile(`%[yz]mm`)
	avx512      = regexp.MustCompile(`%zmm|%k[0-7]`)
)

// Check returns what is wrong with a function of an architecture, amd64 or arm64.
func Check(arch string, f Function) []string {
	r := architectures[arch]
	for n := len(f.Code); arch == "arm64" && n > 0 && f.Code[n-1].Bytes == "00000000"; n-- {
		f.Code = f.Code[:n-1] // zeros up to the next function
	}
	var problems []string
	for _, in := range f.Code {
		var what string
		switch {
		case wrong.MatchString(in.Mnemonic):
			what = "no instruction"
		case r.reserved.MatchString(in.Operands):
			what = "a register that belongs to Go's runtime, the system or the assembler"
		case r.stack.MatchString(r.argument.ReplaceAllString(in.Operands, "")):
			what = "the stack pointer, other than to reach an argument"
		case !r.plain.MatchString(in.Mnemonic+" "+in.Operands) && !r.lanes.MatchString(in.Operands):
			what = "an instruction that a kernel has no use for"
		case r.fma.MatchString(in.Mnemonic):
			what = "a fused multiply-add"
		case arch != "amd64":
		case strings.HasPrefix(in.Mnemonic, "prefetch") && in.Mnemonic != prefetches(f.Name) &&
			!weight.MatchString(f.Name+": "+in.Mnemonic+" "+in.Operands):
			what = "a prefetch into the wrong cache"
		case gatherAMD64.MatchString(in.Mnemonic):
			what = "a gather or scatter of elements"
		case r.lanes.MatchString(in.Operands) && !vexAMD64.MatchString(in.Mnemonic):
			what = "SSE among AVX, which is slow behind a Y or Z register"
		// In 64-bit mode every instruction that starts with byte 62 is AVX-512 in the EVEX encoding.
		case strings.HasSuffix(f.Name, "AVX2") && (strings.HasPrefix(in.Bytes, "62") || avx512.MatchString(in.Operands)):
			what = "AVX-512 in a function called AVX2"
		}
		if what != "" {
			problems = append(problems, fmt.Sprintf("%s: %x: %s %s: %s", f.Name, in.Address, in.Mnemonic, in.Operands, what))
		}
	}
	if !slices.ContainsFunc(f.Code, func(in Instruction) bool { return strings.HasPrefix(in.Mnemonic, "ret") }) {
		problems = append(problems, f.Name+": no return in the disassembly")
	}
	return append(problems, paths(f)...)
}

var branch = regexp.MustCompile(`^(j[a-z]+|b|b\.[a-z]+|cbn?z|tbn?z)$`)

// Target returns where a branch goes; ok is false for any other instruction, and for a branch to no fixed place.
func (in Instruction) Target() (address uint64, ok bool) {
	if !branch.MatchString(in.Mnemonic) {
		return 0, false
	}
	address, err := strconv.ParseUint(in.Operands[strings.LastIndexAny(in.Operands, ", ")+1:], 16, 64)
	return address, err == nil
}

// Assembler returns the code as GNU as would have it, a line each, with all branches to where they stand. Given -march
// with the instruction set of a level, it refuses each instruction that the level does not have.
func Assembler(code []Instruction) string {
	var text strings.Builder
	for _, in := range code {
		operands := in.Operands
		if branch.MatchString(in.Mnemonic) || strings.HasPrefix(in.Mnemonic, "adr") {
			operands = operands[:strings.LastIndexAny(operands, ", ")+1] + "."
		}
		text.WriteString(in.Mnemonic + " " + operands + "\n")
	}
	return text.String()
}

var unfenced = regexp.MustCompile(`^cmpq? +0x[0-9a-f]+\(%rbx\),%r9$`)

// paths follows every path through a function, and complains about one that leaves it other than by a return, and on
// amd64 about a return that can be reached without a VZEROUPPER behind the last use of a Y or Z register, or without an
// SFENCE behind the last store past the caches. Where a flag in memory was found to be set before such a store, it is
// taken to be set still when it is looked at behind; and a jump may go over SFENCE alone where R9, which counts what is
// done, is a number of the arguments, at BX: Fences has which. A function may also go on as its near kernel.
func paths(f Function) []string {
	type state struct {
		address         uint64
		dirty, streamed bool
		flag            string // operands of the comparison with 0 that found it set
	}
	if len(f.Code) == 0 {
		return nil
	}
	index := make(map[uint64]int, len(f.Code))
	for i, in := range f.Code {
		index[in.Address] = i
	}
	var problems []string
	seen := make(map[state]bool)
	todo := []state{{address: f.Code[0].Address}}
	entered := f.Near == 0
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		i, inside := index[s.address]
		if f.Near != 0 && s.address == f.Near && !s.dirty && !s.streamed {
			entered = true
			continue
		}
		if !inside {
			problems = append(problems, fmt.Sprintf("%s: a path leaves the function for %x", f.Name, s.address))
			continue
		}
		in := f.Code[i]
		switch {
		case in.Mnemonic == "vzeroupper" || in.Mnemonic == "vzeroall":
			s.dirty = false
		case wideAMD64.MatchString(in.Operands):
			s.dirty = true
		}
		switch {
		case in.Mnemonic == "sfence":
			s.streamed = false
		case streamAMD64.MatchString(in.Mnemonic):
			s.streamed = true
		}
		if strings.HasPrefix(in.Mnemonic, "ret") {
			if s.dirty {
				problems = append(problems, fmt.Sprintf("%s: %x: a return without VZEROUPPER", f.Name, in.Address))
			}
			if s.streamed {
				problems = append(problems, fmt.Sprintf("%s: %x: a return without SFENCE", f.Name, in.Address))
			}
			continue
		}
		next, jumps, there := true, false, s
		if branch.MatchString(in.Mnemonic) {
			target, ok := in.Target()
			if !ok {
				problems = append(problems, fmt.Sprintf("%s: %x: a jump to no fixed place", f.Name, in.Address))
				continue
			}
			next, jumps, there.address = in.Mnemonic != "jmp" && in.Mnemonic != "b", true, target
			if i > 0 && f.Code[i-1].Mnemonic == "cmpb" && strings.HasPrefix(f.Code[i-1].Operands, "$0x0,") {
				flag := f.Code[i-1].Operands
				known, found := flag == s.flag, flag
				if s.streamed {
					found = s.flag
				}
				switch in.Mnemonic {
				case "je":
					jumps, s.flag = !known, found
				case "jne":
					next, there.flag = !known, found
				}
			}
		}
		if i > 0 && i+2 < len(f.Code) && in.Mnemonic == "je" && there.address == f.Code[i+2].Address &&
			f.Code[i+1].Mnemonic == "sfence" && unfenced.MatchString(f.Code[i-1].Mnemonic+" "+f.Code[i-1].Operands) {
			there.streamed = false
		}
		if jumps {
			todo = append(todo, there)
		}
		switch {
		case !next:
		case i+1 < len(f.Code):
			s.address = f.Code[i+1].Address
			todo = append(todo, s)
		default:
			problems = append(problems, f.Name+": a path runs off the end")
		}
	}
	if !entered && problems == nil {
		problems = append(problems, f.Name+": its near kernel is not reached")
	}
	return problems
}

// Fences returns what is wrong with the jumps over SFENCE in an assembly file of amd64: where they compare R9, it has to be with
// rowArgs.unfenced, which says that another kernel of the same call comes next, whose SFENCE does.
func Fences(name, source string) (problems []string) {
	var code []string
	for _, line := range strings.FieldsFunc(comments.ReplaceAllString(source, ""), func(r rune) bool { return r == '\n' || r == ';' || r == '\\' }) {
		if fields := strings.Fields(line); len(fields) > 0 {
			code = append(code, strings.Join(fields, " "))
		}
	}
	for i, in := range code {
		if in == "SFENCE" && i > 1 && strings.HasPrefix(code[i-1], "J") && strings.Contains(code[i-2], "R9") &&
			code[i-2] != "CMPQ R9, rowArgs_unfenced(BX)" {
			problems = append(problems, fmt.Sprintf("%s: %s decides on SFENCE", name, code[i-2]))
		}
	}
	return problems
}

var comments = regexp.MustCompile(`//.*`)

var (
	text     = regexp.MustCompile(`(?m)^TEXT\s+·(\w+)\(SB\)`)
	nearText = regexp.MustCompile(`(?m)^TEXT\s+·(\w+)<>\(SB\)`)
)

// Functions returns the names of the assembly functions of an architecture that the Go files in the root of dir declare, and of
// their near kernels, which are their file's own, and what is wrong with the declarations.
func Functions(dir fs.FS, arch string) (names, problems []string, err error) {
	files, err := fs.Glob(dir, "*_"+arch+".go")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range files {
		source, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		for _, decl := range file.Decls {
			f, isFunc := decl.(*ast.FuncDecl)
			if !isFunc || f.Body != nil {
				continue
			}
			names = append(names, f.Name.Name)
			if f.Doc == nil || !slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool { return c.Text == "//go:noescape" }) {
				problems = append(problems, fmt.Sprintf("%s: %s has no //go:noescape", name, f.Name.Name))
			}
			suffixes := ladders[arch][1:]
			if !slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(f.Name.Name, s) }) {
				problems = append(problems, fmt.Sprintf("%s: %s does not end in one of %v", name, f.Name.Name, suffixes))
			}
		}
	}
	if len(names) == 0 {
		problems = append(problems, "no assembly function is declared for "+arch)
	}

	defined := make(map[string]bool)
	sources, err := Sources(dir, arch)
	if err != nil {
		return nil, nil, err
	}
	for name, source := range sources {
		for _, m := range text.FindAllStringSubmatch(source, -1) {
			defined[m[1]] = true
			if !slices.Contains(names, m[1]) {
				problems = append(problems, fmt.Sprintf("%s: %s is not declared in Go", name, m[1]))
			}
		}
	}
	for _, name := range names {
		if !defined[name] {
			problems = append(problems, name+": declared in Go, and not defined in assembly")
		}
	}
	declared := len(names)
	for file, source := range sources {
		for _, m := range nearText.FindAllStringSubmatch(source, -1) {
			names = append(names, m[1])
			if !slices.ContainsFunc(names[:declared], func(name string) bool { return NearName(name) == m[1] }) {
				problems = append(problems, fmt.Sprintf("%s: %s is the near kernel of none", file, m[1]))
			}
		}
	}
	slices.Sort(problems)
	return names, problems, nil
}

// Sources returns the assembly files of an architecture in the root of dir, and what they include, by name.
func Sources(dir fs.FS, arch string) (map[string]string, error) {
	files, err := fs.Glob(dir, "*_"+arch+".[sh]")
	if err != nil {
		return nil, err
	}
	sources := make(map[string]string)
	for _, name := range files {
		source, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		sources[path.Base(name)] = string(source)
	}
	return sources, nil
}

// Word is an instruction that a source gives as a number, and the instruction that its comment says it is.
type Word struct {
	Where string
	Value uint32
	Want  string
}

var (
	data      = regexp.MustCompile(`\b(BYTE|WORD|LONG|QUAD|DWORD)\b`)
	wordMacro = regexp.MustCompile(`^#define (\w+)\((\w+(?:, \w+)*)\) WORD \$\((.+)\) // (.+)$`)
	wordLine  = regexp.MustCompile(`^\s*WORD \$(0x[0-9a-fA-F]+) // (.+)$`)
)

// Words returns the instructions that an arm64 source gives as numbers: those of
//
//	WORD $0x6E23DC41 // fmul v1.4s, v2.4s, v3.4s
//	#define VFMUL4S(m, n, d) WORD $(0x6E20DC00|(m)<<16|(n)<<5|(d)) // fmul v{d}.4s, v{n}.4s, v{m}.4s
//
// and of the second every register in every place. Whatever else makes instructions of numbers is a problem, and so is
// all of it on another architecture, where nothing would check it.
func Words(arch, name, source string) (words []Word, problems []string) {
	number := 0
	for line := range strings.Lines(source) {
		number++
		line = strings.TrimRight(line, "\n")
		where := fmt.Sprintf("%s:%d", name, number)
		instruction, _, _ := strings.Cut(line, "//")
		if !data.MatchString(instruction) {
			continue
		}
		if m := wordLine.FindStringSubmatch(line); m != nil && arch == "arm64" {
			value, err := strconv.ParseUint(m[1], 0, 32)
			if err != nil {
				problems = append(problems, where+": "+err.Error())
				continue
			}
			words = append(words, Word{where, uint32(value), m[2]})
			continue
		}
		m := wordMacro.FindStringSubmatch(line)
		if m == nil || arch != "arm64" {
			problems = append(problems, where+": a number in place of an instruction, in no form that is checked")
			continue
		}
		params := strings.Split(m[2], ", ")
		for varied := range params {
			for register := range 32 {
				value, want := m[3], m[4]
				for i, p := range params {
					r := 7 + 9*i // different for each parameter
					if i == varied {
						r = register
					}
					value = regexp.MustCompile(`\b`+p+`\b`).ReplaceAllString(value, strconv.Itoa(r))
					want = strings.ReplaceAll(want, "{"+p+"}", strconv.Itoa(r))
				}
				result, err := types.Eval(token.NewFileSet(), nil, token.NoPos, value)
				if err != nil {
					problems = append(problems, where+": "+err.Error())
					break
				}
				n, exact := constant.Uint64Val(constant.ToInt(result.Value))
				if !exact || n != uint64(uint32(n)) {
					problems = append(problems, fmt.Sprintf("%s: %s is no number of 32 bits", where, value))
					break
				}
				words = append(words, Word{where, uint32(n), want})
			}
		}
	}
	return words, problems
}
