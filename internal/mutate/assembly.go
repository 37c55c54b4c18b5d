package main

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// statement is an instruction, or the use of a macro, as it stands in a source: a macro's body is there once, however
// often it is expanded.
type statement struct {
	file       string // its base name
	line       int
	start, end int    // in the text of the file
	where      string // the function or macro that it stands in
	text       string // with single spaces
}

// macro is the part of a #define that changes its statements have to know.
type macro struct {
	params    []string
	registers []string // those params that statements have where a register stands
}

// source is a file of assembly or a header, taken apart.
type source struct {
	name       string
	text       string
	statements []statement
	macros     map[string]*macro
	order      []string            // names of its functions
	words      map[string][]string // for a function or macro, all identifiers of its body
	explicit   map[string][]string // for a function or macro, the registers that its body names
	labels     map[string][]string // for a function or macro, those that its body has or jumps to
}

var (
	defined    = regexp.MustCompile(`^#define\s+(\w+)(\(([^)]*)\))?`)
	textLine   = regexp.MustCompile(`^TEXT ·(\w+)\(SB\)`)
	nearLine   = regexp.MustCompile(`^TEXT ·(\w+)Near(AVX2|AVX512)<>\(SB\)`)
	labelled   = regexp.MustCompile(`^\s*\w+:`)
	identifier = regexp.MustCompile(`[A-Za-z_]\w*`)
	mnemonic   = regexp.MustCompile(`^[A-Z][A-Z0-9_]*(\.[A-Z]+)*$`)
	register   = regexp.MustCompile(`\b(AX|BX|CX|DX|SI|DI|ZR|[RXYZVF][0-9]+|K[0-7])\b`)
	directives = []string{"TEXT", "DATA", "GLOBL", "PCALIGN", "WORD", "NOP"}
)

// reserved registers are not what a mutant may use in place of another: they are not the kernels' to use.
var reserved = []string{"R14", "R15", "R18", "R26", "R27", "R28", "R29", "R30", "R31", "K0"}

// parse takes a source apart.
func parse(name, text string) *source {
	s := &source{name: name, text: text, macros: map[string]*macro{}, words: map[string][]string{},
		explicit: map[string][]string{}, labels: map[string][]string{}}
	where, inMacro := "", false
	offset := 0
	for number, line := range strings.SplitAfter(text, "\n") {
		start := offset
		offset += len(line)
		code, _, _ := strings.Cut(line, "//")
		code = strings.TrimRight(code, " \t\n")
		continued := strings.HasSuffix(code, `\`)
		code = strings.TrimSuffix(code, `\`)
		at := 0
		switch m := defined.FindStringSubmatch(code); {
		case m != nil:
			where, inMacro = m[1], true
			s.macros[where] = &macro{params: identifier.FindAllString(m[3], -1)}
			at = len(m[0])
		case !inMacro && strings.HasPrefix(code, "#"):
			where = ""
			continue
		case !inMacro && textLine.MatchString(code):
			where = textLine.FindStringSubmatch(code)[1]
			s.order = append(s.order, where)
			continue
		case !inMacro && nearLine.MatchString(code): // no more than what the function has that goes on as it
			where = ""
			continue
		}
		if where != "" {
			s.words[where] = append(s.words[where], identifier.FindAllString(code[at:], -1)...)
			s.explicit[where] = append(s.explicit[where], register.FindAllString(code[at:], -1)...)
		}
		for part := range strings.SplitSeq(code[at:], ";") {
			from := at
			at += len(part) + 1
			if label := labelled.FindString(part); label != "" {
				s.labels[where] = append(s.labels[where], strings.Trim(strings.TrimSpace(label), ":"))
				from += len(label)
				part = part[len(label):]
			}
			trimmed := strings.TrimSpace(part)
			first, _, _ := strings.Cut(strings.ReplaceAll(trimmed, "(", " "), " ")
			if where == "" || !mnemonic.MatchString(first) || slices.Contains(directives, first) {
				continue
			}
			if _, operands := split(trimmed); isJump(first) && len(operands) > 0 {
				s.labels[where] = append(s.labels[where], operands[len(operands)-1])
			}
			from += strings.Index(part, trimmed)
			s.statements = append(s.statements, statement{name, number + 1, start + from, start + from + len(trimmed), where,
				strings.Join(strings.Fields(trimmed), " ")})
		}
		if inMacro && !continued {
			inMacro, where = false, ""
		}
	}
	for name, m := range s.macros {
		m.registers = registerParams(s, name, m)
	}
	return s
}

// registerParams finds the parameters of a macro that stand alone as an operand, and are neither label nor mnemonic.
func registerParams(s *source, name string, m *macro) []string {
	var found []string
	labels := s.labels[name]
	for _, st := range s.statements {
		if st.where != name {
			continue
		}
		first, operands := split(st.text)
		if isJump(first) {
			continue
		}
		for _, o := range operands {
			if slices.Contains(m.params, o) && o == strings.ToLower(o) && !slices.Contains(labels, o) && !slices.Contains(found, o) {
				found = append(found, o)
			}
		}
	}
	return found
}

// split returns the mnemonic or macro of a statement and its operands.
func split(text string) (first string, operands []string) {
	i := strings.IndexAny(text, " (")
	if i < 0 {
		return text, nil
	}
	first = text[:i]
	rest := strings.TrimSpace(text[i:])
	if text[i] == '(' && strings.HasSuffix(rest, ")") { // a macro's arguments
		rest = rest[1 : len(rest)-1]
	}
	depth, from := 0, 0
	for j, r := range rest {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				operands = append(operands, strings.TrimSpace(rest[from:j]))
				from = j + 1
			}
		}
	}
	return first, append(operands, strings.TrimSpace(rest[from:]))
}

// join puts a statement together again.
func join(like, first string, operands []string) string {
	if i := strings.IndexAny(like, " ("); i < 0 {
		return first
	} else if like[i] == '(' {
		return first + "(" + strings.Join(operands, ", ") + ")"
	}
	return first + " " + strings.Join(operands, ", ")
}

var conditions = map[string][]string{ // the boundary moved, and the opposite
	"JLT": {"JLE", "JGE"}, "JLE": {"JLT", "JGT"}, "JGT": {"JGE", "JLE"}, "JGE": {"JGT", "JLT"},
	"JAE": {"JHI", "JCS"}, "JCC": {"JHI", "JCS"}, "JHI": {"JCC", "JLS"}, "JCS": {"JLS", "JCC"}, "JLS": {"JCS", "JHI"},
	"JEQ": {"JNE"}, "JNE": {"JEQ"},
	"BLT": {"BLE", "BGE"}, "BLE": {"BLT", "BGT"}, "BGT": {"BGE", "BLE"}, "BGE": {"BGT", "BLT"},
	"BHS": {"BHI", "BLO"}, "BHI": {"BHS", "BLS"}, "BLO": {"BLS", "BHS"}, "BLS": {"BLO", "BHI"},
	"BEQ": {"BNE"}, "BNE": {"BEQ"}, "CBZ": {"CBNZ"}, "CBNZ": {"CBZ"}, "TBZ": {"TBNZ"}, "TBNZ": {"TBZ"},
	"CMOVLHI": {"CMOVLCC", "CMOVLLS"}, "CMOVQEQ": {"CMOVQNE"}, "CMOVQGT": {"CMOVQGE", "CMOVQLE"},
	"CMOVQLT": {"CMOVQLE", "CMOVQGE"},
	"SETCS":   {"SETLS", "SETCC"}, "SETEQ": {"SETNE"}, "SETNE": {"SETEQ"},
}

// conditionOperands are those that stand as an operand (CSEL, CSET).
var conditionOperands = map[string]string{"EQ": "NE", "NE": "EQ", "LO": "HS", "HS": "LO", "LT": "GE", "GE": "LT",
	"GT": "LE", "LE": "GT", "HI": "LS", "LS": "HI"}

var operations = map[string][]string{
	"ADDQ": {"SUBQ"}, "SUBQ": {"ADDQ"}, "ADDL": {"SUBL"}, "SUBL": {"ADDL"}, "INCQ": {"DECQ"}, "DECQ": {"INCQ"},
	"INCL": {"DECL"}, "DECL": {"INCL"}, "SHLL": {"SHRL"}, "SHRL": {"SHLL"}, "SHLQ": {"SHRQ"},
	"SHRQ": {"SHLQ", "SARQ"}, "ANDQ": {"ORQ"}, "ORQ": {"ANDQ"}, "ANDL": {"ORL"}, "XORL": {"ORL"}, "IMULQ": {"ADDQ"},
	"CMPQ": {"CMPL"}, "MOVQ": {"MOVL"}, "MOVL": {"MOVQ"}, "SBBQ": {"ADCQ"}, "NEGQ": {"NOTQ"}, "TESTQ": {"TESTL"},
	"MOVB": {"MOVL"}, "MOVBU": {"MOVWU"}, "KSHIFTRQ": {"KSHIFTLQ"}, "KMOVW": {"KMOVB"}, "KMOVQ": {"KMOVD"},
	"VADDPS": {"VSUBPS"}, "VSUBPS": {"VADDPS"}, "VMULPS": {"VADDPS"}, "VDIVPS": {"VMULPS"}, "VMAXPS": {"VMINPS"},
	"VMINPS": {"VMAXPS"}, "VADDSS": {"VSUBSS"}, "VMULSS": {"VADDSS"}, "VDIVSS": {"VMULSS"}, "VADDPD": {"VSUBPD"},
	"VSUBPD": {"VADDPD"}, "VMULPD": {"VADDPD"}, "VPMAXUD": {"VPMINUD", "VPMAXSD"}, "VPMAXUQ": {"VPMINUQ", "VPMAXSQ"},
	"VPMAXUB": {"VPMINUB", "VPMAXSB"}, "VPADDD": {"VPSUBD"}, "VPADDQ": {"VPSUBQ"}, "VPMULUDQ": {"VPADDQ"},
	"VPXOR": {"VPOR"}, "VPXORD": {"VPORD"}, "VPXORQ": {"VPORQ"}, "VXORPS": {"VORPS"}, "VPOR": {"VPAND"},
	"VANDPS": {"VORPS"}, "VPCMPGTQ": {"VPCMPEQQ"}, "VPCMPEQB": {"VPCMPGTB"}, "VPSRLQ": {"VPSLLQ"},
	"VPSRLDQ": {"VPSLLDQ"}, "VPUNPCKLQDQ": {"VPUNPCKHQDQ"}, "VPUNPCKHQDQ": {"VPUNPCKLQDQ"},
	"VUNPCKLPS": {"VUNPCKHPS"}, "VUNPCKHPS": {"VUNPCKLPS"}, "VMOVSHDUP": {"VMOVSLDUP"}, "VMOVSLDUP": {"VMOVSHDUP"},
	"VPMOVZXBD": {"VPMOVSXBD"}, "VPMOVSXBD": {"VPMOVZXBD"}, "VPCMPUD": {"VPCMPD"}, "VPCMPUQ": {"VPCMPQ"},
	"VPCMPUB": {"VPCMPB"}, "VMOVSD": {"VMOVSS"}, "VMOVSS": {"VMOVSD"}, "VMOVNTPS": {"VMOVUPS"}, "VMOVAPS": {"VMOVSS"},
	"VMOVHLPS": {"VMOVLHPS"}, "VSQRTPS": {"VRSQRTPS"}, "ADD": {"SUB"}, "SUB": {"ADD"}, "ADDS": {"SUBS", "ADD"},
	"SUBS": {"ADDS", "SUB"}, "LSL": {"LSR"}, "LSR": {"LSL", "ASR"}, "AND": {"ORR"}, "ANDS": {"AND"}, "ORR": {"AND"},
	"MADD": {"MSUB"}, "MSUB": {"MADD"}, "MUL": {"ADD"}, "MOVWU": {"MOVD"}, "MOVD": {"MOVWU"}, "CMP": {"CMPW"},
	"EORW": {"ORRW"}, "FADDS": {"FSUBS"}, "FDIVS": {"FMULS"}, "FMOVQ": {"FMOVD"}, "FMOVD": {"FMOVS"},
	"FMOVS": {"FMOVD"}, "SCVTFS": {"UCVTFS"}, "VEOR": {"VORR"}, "VORR": {"VAND"}, "VAND": {"VORR"}, "VADD": {"VSUB"},
	"VZIP1": {"VZIP2"}, "VZIP2": {"VZIP1"}, "VUZP1": {"VUZP2"}, "VUZP2": {"VUZP1"}, "VUSHR": {"VSHL"},
	"VBIT": {"VBIF"}, "VFADD4S": {"VFSUB4S"}, "VFSUB4S": {"VFADD4S"}, "VFMUL4S": {"VFADD4S"}, "VFDIV4S": {"VFMUL4S"},
	"VFMUL2D": {"VFSUB2D"}, "VCMHS4S": {"VFADD4S"}, "VUMULL": {"VUMULL2"}, "VUMULL2": {"VUMULL"},
	"VFCVTN": {"VFCVTN2"},
}

// moves are the macros that stand for one, and what a mutant moves instead: more, less, or without the mask.
var moves = map[string]string{"VECTOR": "PAIR", "PAIR": "SINGLE", "SINGLE": "PAIR", "MASKED_LOAD": "VECTOR",
	"MASKED_STORE": "VECTOR", "STREAM": "VECTOR", "ZERO": "LATER", "FMOVQ": "FMOVD", "FMOVD": "FMOVS", "FMOVS": "FMOVD"}

var (
	memory  = regexp.MustCompile(`^(.*?)\((\w+)\)((?:\(\w+(?:\*\d|<<\d)?\))?)$`)
	symbol  = regexp.MustCompile(`^(.*·?\w+(?:<>)?)\+(\d+)\((?:SB)\)$`)
	scaled  = regexp.MustCompile(`\*([1248])\)|<<([23])\)`)
	number  = regexp.MustCompile(`^\d+$`)
	product = regexp.MustCompile(`^\d+\*\w+$`)
)

func isJump(first string) bool {
	return first == "JMP" || first == "B" || len(conditions[first]) > 0 && strings.ContainsAny(first[:1], "JBCT") &&
		!strings.HasPrefix(first, "CMOV")
}

// change is one way to change a statement.
type change struct{ kind, text string }

// changes returns all ways to change a statement of s. headers are the sources that s includes, whose macros it may use.
func changes(s *source, st statement, headers []*source) []change {
	first, operands := split(st.text)
	isMacro := false
	for _, from := range append([]*source{s}, headers...) {
		isMacro = isMacro || from.macros[first] != nil
	}
	if m := s.macros[st.where]; m != nil {
		isMacro = isMacro || slices.Contains(m.params, first)
	}
	var all []change
	add := func(kind, text string) {
		if text != st.text && !slices.Contains(all, change{kind, text}) {
			all = append(all, change{kind, text})
		}
	}
	with := func(i int, operand string) string {
		o := slices.Clone(operands)
		o[i] = operand
		return join(st.text, first, o)
	}

	if !isMacro || isOne(s, headers, first) {
		add("drop", "NOP")
	}
	for _, other := range conditions[first] {
		add("condition", join(st.text, other, operands))
	}
	base, suffix, _ := strings.Cut(first, ".")
	inFrame := slices.ContainsFunc(operands, func(o string) bool { return strings.HasSuffix(o, "(FP)") })
	for _, other := range operations[base] {
		if inFrame { // vet sees the wrong size
			break
		}
		if suffix != "" {
			other += "." + suffix
		}
		add("operation", join(st.text, other, operands))
	}
	if other, known := moves[first]; known && isMacro {
		add("move", join(st.text, other, operands))
	}
	if suffix == "Z" {
		add("mask", join(st.text, base, operands)) // merging, where lanes were zeroed
	}
	for i, o := range operands {
		if strings.HasPrefix(o, "K") && register.MatchString(o) && strings.HasPrefix(base, "VMOV") {
			add("mask", join(st.text, base, slices.Delete(slices.Clone(operands), i, i+1)))
		}
		if other, known := conditionOperands[o]; known {
			add("condition", with(i, other))
		}
		if other, known := moves[o]; known {
			add("move", with(i, other))
		}
		switch {
		case isJump(first) && i == len(operands)-1:
			if o == "2(PC)" {
				add("offset", with(i, "3(PC)"))
			}
			continue
		case strings.HasSuffix(o, "(FP)"): // vet has the names and sizes of these
			continue
		case strings.HasPrefix(o, "$"):
			if text, ok := constant(o[1:]); ok {
				add("constant", with(i, "$"+text))
			}
			continue
		case isMacro && (number.MatchString(o) || product.MatchString(o)):
			add("constant", with(i, plus(o, 1)))
			continue
		}
		if m := symbol.FindStringSubmatch(o); m != nil {
			n, _ := strconv.Atoi(m[2])
			add("offset", with(i, fmt.Sprintf("%s+%d(SB)", m[1], n+4)))
			continue
		}
		if m := memory.FindStringSubmatch(o); m != nil && m[2] != "PC" && m[2] != "SB" {
			step := 4
			if strings.Contains(m[1], "Args_") {
				step = 8
			}
			if m[1] == "" {
				add("offset", with(i, strconv.Itoa(step)+o))
			} else {
				add("offset", with(i, plus(m[1], step)+o[len(m[1]):]))
			}
			if at := scaled.FindStringSubmatchIndex(o); at != nil {
				text := o[at[0]:at[1]]
				other := map[string]string{"*1)": "*2)", "*2)": "*4)", "*4)": "*8)", "*8)": "*4)", "<<2)": "<<3)", "<<3)": "<<2)"}[text]
				add("offset", with(i, o[:at[0]]+other+o[at[1]:]))
			}
		}
		for _, other := range replaced(s, st, o) {
			add("register", with(i, other))
		}
	}
	return all
}

// isOne reports whether a macro stands for a single instruction, so that dropping it drops no more than that.
func isOne(s *source, headers []*source, name string) bool {
	if _, known := moves[name]; known {
		return true
	}
	if m := s.macros[name]; m == nil && !slices.ContainsFunc(headers, func(h *source) bool { return h.macros[name] != nil }) {
		return slices.Contains([]string{"LOAD", "STORE", "MOVE", "RIGHT", "OP", "MAX", "COMPARE", "PLUS"}, name) // a parameter
	}
	for _, from := range append([]*source{s}, headers...) {
		if from.macros[name] == nil {
			continue
		}
		n := 0
		for _, st := range from.statements {
			if st.where == name {
				n++
			}
		}
		words := from.words[name]
		return n == 1 || n == 0 && slices.Contains(words, "WORD")
	}
	return false
}

// plus adds n to a number or an expression.
func plus(expr string, n int) string {
	if number.MatchString(expr) {
		old, _ := strconv.Atoi(expr)
		return strconv.Itoa(old + n)
	}
	if strings.HasPrefix(expr, "-") && number.MatchString(expr[1:]) {
		old, _ := strconv.Atoi(expr)
		return strconv.Itoa(old + n)
	}
	return fmt.Sprintf("(%s+%d)", expr, n)
}

// constant changes an immediate operand, which begins behind its $.
func constant(text string) (string, bool) {
	if strings.ContainsAny(text, "·<") && !strings.Contains(text, "<<") {
		return "", false // an address
	}
	if strings.Contains(text, ".") {
		return "(2.5)", true
	}
	if number.MatchString(text) {
		return plus(text, 1), true
	}
	return "(" + text + "+1)", true
}

// replaced returns an operand with each of its registers replaced by another of the same class, one at a time: one that
// the function or macro also has, if there is one.
func replaced(s *source, st statement, operand string) []string {
	var all []string
	for _, at := range register.FindAllStringIndex(operand, -1) {
		old := operand[at[0]:at[1]]
		if other := another(old, s.explicit[st.where], st.text+operand[:at[1]]); other != "" {
			all = append(all, operand[:at[0]]+other+operand[at[1]:])
		}
	}
	m := s.macros[st.where]
	if m == nil {
		return all
	}
	for _, at := range identifier.FindAllStringIndex(operand, -1) {
		old := operand[at[0]:at[1]]
		if !slices.Contains(m.registers, old) || at[0] > 0 && operand[at[0]-1] == '_' {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(m.registers), func(r string) bool { return r == old })
		if len(others) == 0 {
			continue
		}
		all = append(all, operand[:at[0]]+others[pick(st.text+operand[:at[1]], len(others))]+operand[at[1]:])
	}
	return all
}

var general = []string{"AX", "BX", "CX", "DX", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13"}

func class(r string) string {
	if slices.Contains(general, r) && len(r) == 2 && (r[1] < '0' || r[1] > '9') {
		return "R"
	}
	return r[:1]
}

func another(old string, here []string, seed string) string {
	if old == "ZR" {
		return ""
	}
	var others []string
	for _, r := range here {
		if r != old && class(r) == class(old) && !slices.Contains(reserved, r) && r != "ZR" && !slices.Contains(others, r) {
			others = append(others, r)
		}
	}
	if len(others) == 0 {
		if class(old) == "R" {
			others = slices.DeleteFunc(slices.Clone(general), func(r string) bool { return r == old })
			if old[0] == 'R' && !slices.Contains(general, old) {
				others = []string{"R3", "R5"}
			}
		} else {
			n, _ := strconv.Atoi(old[1:])
			others = []string{fmt.Sprintf("%s%d", old[:1], (n+1)%8)}
		}
	}
	slices.Sort(others)
	return others[pick(seed, len(others))]
}

// pick chooses one of n by a text, so that a mutant is the same in every run.
func pick(text string, n int) int {
	h := fnv.New32a()
	h.Write([]byte(text))
	return int(h.Sum32() % uint32(n))
}

// assembly is all the assembly of a package for one architecture.
type assembly struct {
	arch    string
	files   []*source            // .s
	headers map[string][]*source // for each of them, the headers of the package that it includes
	uses    map[string]map[string][]string
}

var included = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// readAssembly reads the files for arch in directory dir.
func readAssembly(read func(name string) (string, error), dir, arch string) (*assembly, error) {
	a := &assembly{arch: arch, headers: map[string][]*source{}, uses: map[string]map[string][]string{}}
	names, err := filepath.Glob(filepath.Join(dir, "*_"+arch+".s"))
	if err != nil {
		return nil, err
	}
	parsed := map[string]*source{}
	for _, path := range names {
		text, err := read(path)
		if err != nil {
			return nil, err
		}
		s := parse(filepath.Base(path), text)
		a.files = append(a.files, s)
		for _, m := range included.FindAllStringSubmatch(text, -1) {
			if m[1] == "textflag.h" || m[1] == "go_asm.h" || m[1] == "funcdata.h" {
				continue
			}
			if parsed[m[1]] == nil {
				text, err := read(filepath.Join(dir, m[1]))
				if err != nil {
					return nil, err
				}
				parsed[m[1]] = parse(m[1], text)
			}
			a.headers[s.name] = append(a.headers[s.name], parsed[m[1]])
		}
	}
	return a, nil
}

// reached returns the functions of file s that a change in file, in the function or macro where, changes too.
func (a *assembly) reached(s *source, file, where string) []string {
	if a.uses[s.name] == nil {
		a.uses[s.name] = a.expand(s)
	}
	return a.uses[s.name][file+" "+where]
}

// expand returns which functions of file s each function or macro, by its file and name, is part of.
func (a *assembly) expand(s *source) map[string][]string {
	bodies, owner := map[string][]string{}, map[string]string{}
	for _, from := range append(slices.Clone(a.headers[s.name]), s) {
		for name, words := range from.words {
			bodies[name], owner[name] = words, from.name
		}
	}
	uses := map[string][]string{}
	for _, f := range s.order {
		seen := map[string]bool{}
		var walk func(name string)
		walk = func(name string) {
			if _, known := bodies[name]; !known || seen[name] {
				return
			}
			seen[name] = true
			for _, word := range bodies[name] {
				walk(word)
			}
		}
		walk(f)
		for name := range seen {
			uses[owner[name]+" "+name] = append(uses[owner[name]+" "+name], f)
		}
	}
	return uses
}

// mutants returns all mutants of the functions whose names end in suffix.
func (a *assembly) mutants(level, suffix string) []*mutant {
	var all []*mutant
	done := map[string]bool{}
	sources := slices.Clone(a.files)
	for _, s := range a.files {
		for _, h := range a.headers[s.name] {
			if !done[h.name] {
				done[h.name] = true
				sources = append(sources, h)
			}
		}
	}
	for _, s := range sources {
		reached := map[string][]string{} // by where
		nth := map[string]int{}
		for _, st := range s.statements {
			nth[st.where+": "+st.text]++
			functions, known := reached[st.where]
			if !known {
				for _, f := range a.files {
					for _, name := range a.reached(f, s.name, st.where) {
						if strings.HasSuffix(name, suffix) {
							functions = append(functions, name)
						}
					}
				}
				reached[st.where] = functions
			}
			if len(functions) == 0 {
				continue
			}
			for _, c := range changes(s, st, a.headers[s.name]) {
				all = append(all, &mutant{File: st.file, Line: st.line, Where: st.where, Level: level, Kind: c.kind,
					Was: st.text, Is: c.text, start: st.start, end: st.end, functions: functions, nth: nth[st.where+": "+st.text]})
			}
		}
	}
	return all
}

// changedHeaders returns the header of file s that mutant m is in, if it is in one, as it becomes.
func (a *assembly) changedHeaders(s *source, m *mutant) map[string]string {
	for _, h := range a.headers[s.name] {
		if h.name == m.File {
			return map[string]string{h.name: mutated(h.text, m)}
		}
	}
	return nil
}

// variant returns file s with mutant m in it, if it is in this file, and only the functions that it changes, called by their
// names and the mutant's number.
func (a *assembly) variant(s *source, m *mutant, n int) string {
	text := s.text
	if m.File == s.name {
		text = mutated(text, m)
	}
	var b strings.Builder
	keep := true
	for line := range strings.Lines(text) {
		if t := textLine.FindStringSubmatch(line); t != nil {
			if keep = slices.Contains(m.functions, t[1]); keep {
				line = strings.Replace(line, t[1], renamed(t[1], n), 1)
			}
		} else if t := nearLine.FindStringSubmatch(line); t != nil {
			if keep = slices.Contains(m.functions, t[1]+t[2]); keep {
				line = "\tUNDEF\n" + line // which a function without its last instruction comes to
			}
		} else if len(line) > 1 && strings.ContainsAny(line[:1], "#DG") && !strings.HasPrefix(line, "//") {
			keep = !global.MatchString(line)
		}
		if keep {
			b.WriteString(line)
		}
	}
	return b.String()
}

// global matches what defines data that the whole package has, and which is there once.
var global = regexp.MustCompile(`^(DATA|GLOBL)\s+·?\w+(\+\d+)?\(SB\)`)

// suffix is of one length, so that code that is the same is so but for it.
func suffix(n int) string { return fmt.Sprintf("__mutant%04d", n) }

func renamed(function string, n int) string { return function + suffix(n) }

// dispatching returns file s with its functions renamed, and under their names functions that note that they have been
// called, counted from first on, and jump to the mutant that is chosen, if it has changed the function.
func (a *assembly) dispatching(s *source, batch []*mutant, first int) string {
	var b strings.Builder
	for line := range strings.Lines(s.text) {
		if t := textLine.FindStringSubmatch(line); t != nil {
			line = strings.Replace(line, t[1], renamed(t[1], 0), 1)
		}
		b.WriteString(line)
	}
	b.WriteString("\n")
	for i, f := range s.order {
		decl := regexp.MustCompile(`TEXT ·` + f + `\(SB\),[^\n]*`).FindString(s.text)
		table := "mutants_" + f + "<>"
		for n := range len(batch) + 1 {
			k := 0
			if n > 0 && batch[n-1].Status == "" && slices.Contains(batch[n-1].functions, f) {
				k = n
			}
			fmt.Fprintf(&b, "DATA %s+%d(SB)/8, $·%s(SB)\n", table, 8*n, renamed(f, k))
		}
		fmt.Fprintf(&b, "GLOBL %s(SB), 16, $%d\n", table, 8*(len(batch)+1)) // 16 is NOPTR
		if a.arch == "arm64" {
			fmt.Fprintf(&b, "%s\n\tMOVD $1, R0\n\tMOVD $·mutateHits+%d(SB), R1\n\tMOVB R0, (R1)\n\tMOVD ·mutateNumber(SB), R0\n"+
				"\tMOVD $%s(SB), R1\n\tMOVD (R1)(R0<<3), R1\n", decl, first+i, table)
			for r := 2; r < 26; r++ { // what a wrapper has left in registers, as the arguments, is not for mutants to find
				if r < 16 || r > 18 {
					fmt.Fprintf(&b, "\tMOVD $-1, R%d\n", r)
				}
			}
			fmt.Fprintf(&b, "\tJMP (R1)\n\n")
		} else {
			fmt.Fprintf(&b, "%s\n\tMOVB $1, ·mutateHits+%d(SB)\n\tMOVQ ·mutateNumber(SB), CX\n\tLEAQ %s(SB), AX\n"+
				"\tMOVQ (AX)(CX*8), AX\n\tJMP AX\n\n", decl, first+i, table)
		}
	}
	return b.String()
}
