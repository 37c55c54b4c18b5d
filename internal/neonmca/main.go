// Command neonmca predicts the speed of the NEON kernels where no Arm machine is at hand, and prints the tables of
// README.md. It takes the instructions from a program built for arm64: the hot loops from its disassembly, whole rows
// from a trace under qemu. llvm-mca says how many cycles they take on some cores; beside that stand the cycles that the
// core needs at least to load and store what the instructions load and store, and to compute what they compute. The trace also
// says how many instructions a call executes for a row, on NEON and on the portable path.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rowvec/rowvec/internal/asmcheck"
)

const module = "github.com/rowvec/rowvec"

// effort counts what instructions do with vector registers, scalars in them too. A pair counts as two loads or stores.
type effort struct {
	loads, loaded         int // number, bytes
	stores, small, stored int // number, those of less than 16 bytes, bytes
	storing               int // store instructions, a pair counted once
	computed              int // instructions that are neither
}

// core is one that llvm-mca knows. README.md says where the limits come from.
type core struct {
	name     string
	cpu      string
	dispatch int // micro-operations per cycle, where llvm's own number is not to be used
	limit    func(effort) float64
}

var cores = []core{
	{"Neoverse N1", "neoverse-n1", 0, limitN1},
	{"N1, 8 micro-ops", "neoverse-n1", 8, limitN1},
	{"Neoverse V1", "neoverse-v1", 0, limitV1},
	{"Apple M1", "apple-m1", 0, limitM1},
}

// limitN1: two pipes; each takes a load, or a store of up to 8 bytes. Two more compute.
func limitN1(e effort) float64 { return float64(max(e.loads+2*e.stores-e.small, e.computed)) / 2 }

// limitV1: three pipes take loads, and two of these a store or pair of stores each; 32 bytes stored per cycle. Four compute.
func limitV1(e effort) float64 {
	return max(float64(e.loads+e.storing)/3, float64(e.storing)/2, float64(e.stored)/32, float64(e.computed)/4)
}

// limitM1: four pipes, of which three take loads and two take stores. Four more compute.
func limitM1(e effort) float64 {
	return max(float64(e.loads)/3, float64(e.stores)/2, float64(e.loads+e.stores)/4, float64(e.computed)/4)
}

// moved matches the vector registers that a load or store moves: one or two, or in braces with their lanes, of which it may move
// one.
var moved = regexp.MustCompile(`^(?:([qds])\d+, (?:[qds]\d+, )?\[|\{v(\d+)\.(\d*)([bhsd])(?:[-, ]+v(\d+)\.\w+)?\}(\[)?)`)

// vector matches an operand that is in a vector register.
var vector = regexp.MustCompile(`^\{?[vqds]\d`)

func count(code []asmcheck.Instruction) (e effort) {
	for _, in := range code {
		load, store := strings.HasPrefix(in.Mnemonic, "ld"), strings.HasPrefix(in.Mnemonic, "st")
		if !load && !store {
			if slices.ContainsFunc(strings.Split(in.Operands, ", "), vector.MatchString) {
				e.computed++
			}
			continue
		}
		m := moved.FindStringSubmatch(in.Operands)
		if m == nil {
			continue
		}
		n, size := strings.Count(m[0], ", "), map[string]int{"b": 1, "h": 2, "s": 4, "d": 8, "q": 16}[m[1]+m[4]]
		if m[1] == "" {
			n = 1
			if from, to := number(m[2]), number(m[5]); m[5] != "" {
				n = (to-from+32)%32 + 1
			}
			if lanes := number(m[3]); lanes > 0 && m[6] == "" && !strings.HasSuffix(in.Mnemonic, "r") {
				size *= lanes
			}
		}
		if load {
			e.loads += n
			e.loaded += n * size
			continue
		}
		e.stores += n
		e.stored += n * size
		e.storing++
		if size < 16 {
			e.small += n
		}
	}
	return e
}

// number returns the number that s is, or 0.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// piece is what llvm-mca looks at, and how many cycles it predicts for it on each of cores.
type piece struct {
	code   []asmcheck.Instruction
	cycles []float64
}

// loop is one without another inside that moves whole vectors.
type loop struct {
	function string
	items    int // floats that it stores, or loads where it stores none, or ids
	piece
}

// backward returns the positions of the target and the branch of each backward branch.
func backward(code []asmcheck.Instruction) (branches [][2]int) {
	for i, in := range code {
		if target, ok := in.Target(); ok {
			to := slices.IndexFunc(code[:i], func(in asmcheck.Instruction) bool { return in.Address == target })
			if to >= 0 {
				branches = append(branches, [2]int{to, i})
			}
		}
	}
	return branches
}

// inside reports whether b is a loop within a.
func inside(a, b [2]int) bool { return a != b && a[0] <= b[0] && b[1] <= a[1] }

// loops returns the hot loops of a function, and the addresses where rows start: those of the loops around others and,
// where there are such, of loops for short rows beside them; or that of the function.
func loops(function string, whole bool, code []asmcheck.Instruction) (found []loop, rows []uint64) {
	branches := backward(code)
	around := func(b [2]int) bool {
		return slices.ContainsFunc(branches, func(c [2]int) bool { return inside(b, c) })
	}
	nested := slices.ContainsFunc(branches, around)
	if !nested {
		rows = append(rows, code[0].Address)
	}
	for _, b := range branches {
		body := code[b[0] : b[1]+1]
		outermost := !slices.ContainsFunc(branches, func(c [2]int) bool { return inside(c, b) })
		if outermost && nested {
			rows = append(rows, body[0].Address)
		}
		if around(b) {
			continue
		}
		a := count(body)
		if a.loaded+a.stored < 16 {
			continue
		}
		items := a.stored / 4
		switch {
		case strings.HasPrefix(function, "ids64"):
			items = a.loaded / 8
		case items == 0:
			items = a.loaded / 4
		}
		has := func(mnemonic string) bool {
			return slices.ContainsFunc(body, func(i asmcheck.Instruction) bool { return i.Mnemonic == mnemonic })
		}
		name := function
		switch {
		case has("ccmp"):
			name += ", four rows"
		case outermost && nested && whole:
			name += ", short rows"
		}
		if has("prfm") {
			name += " (p)"
		}
		found = append(found, loop{name, items, piece{code: body}})
	}
	return found, rows
}

// call is one of those of program calls, traced.
type call struct {
	function    string
	dim         int
	prefetching bool
	whole       bool // it does one row after the other
	rows        int
	counters    []uint64 // addresses of the instructions executed
}

// program is calls, built for arm64.
type program struct {
	path    string
	symbols []elf.Symbol // of functions, by address
}

func build(dir string) (*program, error) {
	p := &program{path: filepath.Join(dir, "calls")}
	cmd := exec.Command("go", "build", "-o", p.path, module+"/internal/neonmca/calls")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if _, err := run(cmd); err != nil {
		return nil, err
	}
	file, err := elf.Open(p.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if p.symbols, err = file.Symbols(); err != nil {
		return nil, err
	}
	p.symbols = slices.DeleteFunc(p.symbols, func(s elf.Symbol) bool { return elf.ST_TYPE(s.Info) != elf.STT_FUNC })
	slices.SortFunc(p.symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return p, nil
}

// function returns the name of the function that an address is in.
func (p *program) function(address uint64) string {
	i, found := slices.BinarySearchFunc(p.symbols, address, func(s elf.Symbol, address uint64) int {
		return cmp.Compare(s.Value, address)
	})
	if !found {
		i--
	}
	if i < 0 {
		return ""
	}
	return p.symbols[i].Name
}

// untraced are the kernels that no call of program calls is about, and why.
var untraced = map[string]string{
	"fetchRowsNEON": "it prefetches",
	"dotLanesNEON":  "it does rows of more elements than a call of dotsNEON may",
}

// complete reports a kernel of the program that is neither among the calls nor in untraced, where rows have a multiple of 64
// elements, as it takes for all to be called.
func (p *program) complete(calls []call) error {
	if !slices.ContainsFunc(calls, func(c call) bool { return c.dim%64 == 0 }) {
		return nil
	}
	for _, s := range p.symbols {
		name, ours := strings.CutPrefix(s.Name, module+".")
		name, assembly := strings.CutSuffix(name, "NEON.abi0")
		if !ours || !assembly {
			continue
		}
		name += "NEON"
		if untraced[name] == "" && !slices.ContainsFunc(calls, func(c call) bool { return c.function == name }) {
			return fmt.Errorf("%s is not called", name)
		}
	}
	return nil
}

// scheduling reports whether a function belongs to Go's runtime, which comes in between every few milliseconds; what
// the portable path calls to copy does not count as such.
func scheduling(function string) bool {
	runtime := strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/runtime/") || function == "gogo"
	return runtime && !strings.HasPrefix(function, "runtime.mem")
}

// counted returns where the functions are whose instructions count, as qemu wants to be told: with those of others, which would be
// left out here, both traces of 64 columns take 51 s in place of 29.
func (p *program) counted() string {
	var ranges []string
	for i := 0; i < len(p.symbols); i++ {
		first := i
		for i < len(p.symbols) && !scheduling(p.symbols[i].Name) {
			i++
		}
		if i > first {
			last := p.symbols[i-1]
			ranges = append(ranges, fmt.Sprintf("%#x..%#x", p.symbols[first].Value, last.Value+last.Size-1))
		}
	}
	return strings.Join(ranges, ",")
}

// trace runs the program at a level of instructions under qemu.
func (p *program) trace(qemu, level string, dims []string) ([]call, error) {
	cmd := exec.Command(qemu, append([]string{"-d", "exec,nochain", "-dfilter", p.counted(), p.path}, dims...)...)
	cmd.Env = append(os.Environ(), "ROWVEC_ISA="+level, "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", "GOGC=off",
		"QEMU_SINGLESTEP=1", "QEMU_ONE_INSN_PER_TB=1") // the same option by its two names, before qemu 8.1 and since
	var names bytes.Buffer
	cmd.Stdout = &names
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var runs [][]uint64
	recording, thread := false, ""
	functions := make(map[uint64]string) // by address
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		// Trace 0: 0x7f4d54e00340 [0000000001009331/0000000000087e24/00000001/00000201] runtime.rt0_go.abi0
		head, rest, _ := strings.Cut(line, "/")
		counter, _, found := strings.Cut(rest, "/")
		at, _, _ := strings.Cut(head, ":")
		address, err := strconv.ParseUint(counter, 16, 64)
		if !found || err != nil || !strings.HasPrefix(at, "Trace ") {
			continue
		}
		function, known := functions[address]
		if !known {
			function = p.function(address)
			functions[address] = function
		}
		switch {
		case function == "main.mark": // one instruction: a return
			recording, thread = !recording, at
			if recording {
				runs = append(runs, nil)
			}
		case recording && at == thread:
			runs[len(runs)-1] = append(runs[len(runs)-1], address)
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	var calls []call
	for i, line := range strings.Split(strings.TrimSpace(names.String()), "\n") {
		c := call{}
		if _, err := fmt.Sscan(line, &c.function, &c.dim, &c.prefetching, &c.whole, &c.rows); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		if i >= len(runs) {
			return nil, errors.New("the trace is too short: is it one of single instructions?")
		}
		c.counters = runs[i]
		calls = append(calls, c)
	}
	return calls, nil
}

// row is a row of some dim, done by NEON and by the portable path.
type row struct {
	call
	neon, portable float64 // instructions for one row more, whatever the call does included
	abreast        int     // rows that piece does
	piece
}

// rows pairs the calls at both levels. code is the disassembly by function, starts where their rows start.
func rows(neon, portable []call, code map[string][]asmcheck.Instruction, starts map[string][]uint64) ([]row, error) {
	if len(neon) != len(portable) || len(neon)%2 != 0 {
		return nil, fmt.Errorf("%d calls on NEON, and %d on the portable path", len(neon), len(portable))
	}
	var all []row
	for i := 0; i < len(neon); i += 2 {
		r := row{call: neon[i], neon: more(neon[i], neon[i+1]), portable: more(portable[i], portable[i+1])}
		started, ran := 0, false
		for _, address := range r.counters {
			if slices.Contains(starts[r.function], address) {
				started++
			}
			f := code[r.function]
			n, ok := slices.BinarySearchFunc(f, address, func(in asmcheck.Instruction, address uint64) int {
				return cmp.Compare(in.Address, address)
			})
			ran = ran || ok
			if ok && started == 2 && r.whole { // the second row, since the first may differ, or all that come with it
				r.code = append(r.code, f[n])
			}
		}
		r.abreast = r.call.rows / max(started, 1)
		if !ran || r.whole && len(r.code) == 0 {
			return nil, fmt.Errorf("%s was not run", r.function)
		}
		all = append(all, r)
	}
	return all, nil
}

// more returns the number of instructions for one row more; the second call is the one on more rows.
func more(few, many call) float64 {
	return float64(len(many.counters)-len(few.counters)) / float64(many.rows-few.rows)
}

// predict asks llvm-mca for all pieces.
func predict(mca string, pieces []*piece) error {
	var source strings.Builder
	for i, p := range pieces {
		fmt.Fprintf(&source, "# LLVM-MCA-BEGIN %d\nlabel%d:\n", i, i)
		for _, in := range p.code {
			operands := in.Operands
			if _, ok := in.Target(); ok {
				operands = fmt.Sprintf("%slabel%d", operands[:strings.LastIndexAny(operands, ", ")+1], i)
			}
			fmt.Fprintf(&source, "\t%s\t%s\n", in.Mnemonic, operands)
		}
		source.WriteString("# LLVM-MCA-END\n")
	}
	for _, c := range cores {
		before, err := cycles(mca, c, source.String(), 50)
		if err != nil {
			return err
		}
		after, err := cycles(mca, c, source.String(), 150)
		if err != nil {
			return err
		}
		if len(before) != len(pieces) || len(after) != len(pieces) {
			return fmt.Errorf("llvm-mca reports on %d and %d of %d pieces", len(before), len(after), len(pieces))
		}
		for i, p := range pieces {
			p.cycles = append(p.cycles, (after[i]-before[i])/100)
		}
	}
	return nil
}

// cycles returns how many cycles llvm-mca predicts for some iterations of each piece of source.
func cycles(mca string, c core, source string, iterations int) (all []float64, err error) {
	args := []string{"-mtriple=aarch64", "-mcpu=" + c.cpu, "-json", fmt.Sprint("-iterations=", iterations)}
	if c.dispatch > 0 {
		args = append(args, fmt.Sprint("-dispatch=", c.dispatch))
	}
	cmd := exec.Command(mca, args...)
	cmd.Stdin = strings.NewReader(source)
	out, err := run(cmd)
	if err != nil {
		return nil, err
	}
	var report struct {
		CodeRegions []struct{ SummaryView struct{ TotalCycles float64 } }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", mca, err)
	}
	for _, r := range report.CodeRegions {
		all = append(all, r.SummaryView.TotalCycles)
	}
	return all, nil
}

func run(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", cmd, err, stderr.Bytes())
	}
	return out, err
}

// newest returns the llvm-mca of the highest version in PATH.
func newest() (name string) {
	best := 0
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		files, _ := filepath.Glob(filepath.Join(dir, "llvm-mca-*"))
		for _, f := range files {
			if version, err := strconv.Atoi(f[strings.LastIndex(f, "-")+1:]); err == nil && version > best {
				name, best = f, version
			}
		}
	}
	if name == "" {
		return "llvm-mca"
	}
	return name
}

func (p *piece) cells() (s string) {
	a := count(p.code)
	for i, c := range cores {
		s += fmt.Sprintf(" %.1f / %.1f = %.2f |", p.cycles[i], c.limit(a), p.cycles[i]/c.limit(a))
	}
	return s
}

func header(columns ...string) {
	for _, c := range cores {
		columns = append(columns, c.name)
	}
	fmt.Printf("| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
}

func main() {
	mca := flag.String("mca", newest(), "`program` llvm-mca, or none for the instructions alone")
	objdump := flag.String("objdump", "aarch64-linux-gnu-objdump", "GNU objdump for arm64")
	qemu := flag.String("qemu", "qemu-aarch64-static", "qemu of user mode for arm64")
	dims := flag.String("dims", "2 8 24 64 768", "numbers of `columns`, with blanks in between; all kernels are called where one is a multiple of 64")
	flag.Parse()
	if err := report(*mca, *objdump, *qemu, strings.Fields(*dims)); err != nil {
		fmt.Fprintln(os.Stderr, "neonmca:", err)
		os.Exit(1)
	}
}

func report(mca, objdump, qemu string, dims []string) error {
	dir, err := os.MkdirTemp("", "neonmca")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := build(dir)
	if err != nil {
		return err
	}
	neon, err := p.trace(qemu, "neon", dims)
	if err != nil {
		return err
	}
	portable, err := p.trace(qemu, "portable", dims)
	if err != nil {
		return err
	}

	if err := p.complete(neon); err != nil {
		return err
	}
	code := make(map[string][]asmcheck.Instruction)
	starts := make(map[string][]uint64)
	var hot []loop
	for _, c := range neon {
		if code[c.function] != nil {
			continue
		}
		listing, err := run(exec.Command(objdump, "-d", "--disassemble="+module+"."+c.function+".abi0", p.path))
		if err != nil {
			return err
		}
		f := asmcheck.Parse(string(listing))
		if len(f) == 0 {
			return fmt.Errorf("%s is not in the disassembly", c.function)
		}
		found, start := loops(c.function, c.whole, f)
		code[c.function], starts[c.function], hot = f, start, append(hot, found...)
	}
	done, err := rows(neon, portable, code, starts)
	if err != nil {
		return err
	}
	if mca != "" {
		if err := predictions(mca, hot, done); err != nil {
			return err
		}
	}
	fmt.Println("Instructions executed for one row more, or one call more, with all that the public functions do.")
	fmt.Println()
	fmt.Println("| function | dim | NEON | portable | ratio |\n| --- | --- | --- | --- | --- |")
	for _, r := range done {
		fmt.Printf("| %s | %s | %.0f | %.0f | %.1f |\n", r.function, r.size(), r.neon, r.portable, r.portable/r.neon)
	}
	return nil
}

// predictions prints what llvm-mca says of hot loops and of rows.
func predictions(mca string, hot []loop, done []row) error {
	var pieces []*piece
	for i := range hot {
		pieces = append(pieces, &hot[i].piece)
	}
	for i := range done {
		if done[i].whole {
			pieces = append(pieces, &done[i].piece)
		}
	}
	if err := predict(mca, pieces); err != nil {
		return err
	}

	fmt.Println("Hot loops, one iteration: cycles predicted / cycles at the limit = ratio. (p): it prefetches.")
	fmt.Println()
	header("loop", "floats or ids", "instructions")
	for _, l := range hot {
		fmt.Printf("| %s | %d | %d |%s\n", l.function, l.items, len(l.code), l.cells())
	}
	fmt.Println("\nThe assembly of a whole row, of several where they come together, or of a call where there are no rows.")
	fmt.Println()
	header("function", "dim", "instructions")
	for _, r := range done {
		if r.whole {
			size := r.size()
			if r.abreast > 1 {
				size += fmt.Sprintf(", %d rows", r.abreast)
			}
			fmt.Printf("| %s | %s | %d |%s\n", r.function, size, len(r.code), r.cells())
		}
	}
	fmt.Println()
	return nil
}

func (r *row) size() string {
	if r.prefetching {
		return fmt.Sprint(r.dim, " (p)")
	}
	return fmt.Sprint(r.dim)
}
