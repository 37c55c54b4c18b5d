package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// peersScript is the other side of python. Its first lines describe what the two tell each other.
//
//go:embed peers.py
var peersScript string

// loopsSource is what peersScript has in C.
//
//go:embed loops/loops.c
var loopsSource string

// python is a process that runs peersScript.
type python struct {
	pythonInfo
	command *exec.Cmd
	to      io.WriteCloser
	from    *bufio.Reader
	stderr  bytes.Buffer
}

// pythonInfo says what there is to compare with.
type pythonInfo struct {
	Python  string   `json:"python"`
	NumPy   string   `json:"numpy"`   // empty if it is missing
	PyTorch string   `json:"pytorch"` // likewise
	C       string   `json:"c"`       // the compiler, likewise
	Missing []string `json:"-"`       // and why
}

func (p pythonInfo) String() string {
	s := "Python " + p.Python
	for _, library := range [][2]string{{"NumPy", p.NumPy}, {"PyTorch", p.PyTorch}} {
		if library[1] == "" {
			s += ", no " + library[0]
		} else {
			s += ", " + library[0] + " " + library[1]
		}
	}
	if p.C != "" {
		s += "\nC: " + p.C
	}
	return s
}

// request is what python is told, in front of the raw bytes that it may need.
type request struct {
	Threads int     `json:"threads,omitempty"`
	Loops   string  `json:"loops,omitempty"`
	Do      string  `json:"do,omitempty"`
	Kernel  string  `json:"kernel"`
	Vocab   int     `json:"vocab"`
	Dim     int     `json:"dim"`
	IDs     int     `json:"ids"`
	Seq     int     `json:"seq"`
	N       int     `json:"n"`
	Scale   float32 `json:"scale"`
	Lists   int     `json:"lists"`
	Side    string  `json:"side"`
	First   int     `json:"first"`
	Calls   int     `json:"calls"`
	Warm    int     `json:"warm"`
	Bytes   int     `json:"bytes"`

	Rate    float64 `json:"rate"` // of Adagrad, as what follows
	Initial float64 `json:"initial"`
	Epsilon float64 `json:"epsilon"`
}

// answer is what python says, in front of the raw bytes that there may be.
type answer struct {
	Error   string   `json:"error"`
	Python  string   `json:"python"`
	NumPy   string   `json:"numpy"`
	Torch   string   `json:"torch"`
	Missing []string `json:"missing"`
	Sides   []string `json:"sides"`
	NS      int64    `json:"ns"`
	Bytes   int      `json:"bytes"`
}

// startPython starts the interpreter called name, with loops that the C compiler called cc makes unless that is "". It is an
// error if it has neither NumPy nor PyTorch.
func startPython(name, cc string, threads int) (*python, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("no Python to compare with: %w (-python names another)", err)
	}
	p := &python{command: exec.Command(path, "-c", peersScript)}
	hello := request{Threads: threads}
	if cc != "" {
		dir, err := os.MkdirTemp("", "rowvec-loops-")
		if err != nil {
			return nil, fmt.Errorf("no room for loops in C: %w (TMPDIR names another place)", err)
		}
		defer os.RemoveAll(dir) // what has been loaded stays
		hello.Loops = filepath.Join(dir, "loops.so")
		if p.C, err = compile(cc, hello.Loops); err != nil {
			return nil, err
		}
	}
	p.command.Env = pythonEnv(os.Environ(), threads)
	p.command.Stderr = &p.stderr
	if p.to, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	from, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.from = bufio.NewReader(from)
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("no Python to compare with: %w (-python names another)", err)
	}
	a, err := p.ask(hello, numbers())
	if err != nil {
		p.stop()
		return nil, err
	}
	p.Python, p.NumPy, p.PyTorch, p.Missing = a.Python, a.NumPy, a.Torch, a.Missing
	if a.NumPy == "" && a.Torch == "" {
		p.stop()
		return nil, fmt.Errorf("%s (Python %s) has nothing to compare with: %s (Debian has python3-numpy and "+
			"python3-torch; -python names another interpreter)", path, a.Python, strings.Join(a.Missing, "; "))
	}
	return p, nil
}

// compile makes loopsSource a library for this very processor, and returns which compiler that was.
func compile(cc, library string) (version string, err error) {
	text, err := exec.Command(cc, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("no C compiler: %w (-cc names another)", err)
	}
	command := exec.Command(cc, "-O3", "-march=native", "-fno-tree-loop-distribute-patterns", // no memcpy in place of a loop
		"-shared", "-fPIC", "-x", "c", "-o", library, "-")
	command.Stdin = strings.NewReader(loopsSource)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	if _, err := os.Stat(library); err != nil {
		return "", fmt.Errorf("%s has made no library (-cc names another compiler)", cc)
	}
	version, _, _ = strings.Cut(string(text), "\n")
	return version, nil
}

// pythonEnv adds what makes sides alike: the number of threads, and 2 MiB pages for what NumPy and PyTorch allocate. Who
// has set GLIBC_TUNABLES, if only to nothing, has decided on the latter.
func pythonEnv(env []string, threads int) []string {
	if _, set := os.LookupEnv("GLIBC_TUNABLES"); !set {
		env = append(env, "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", "THP_MEM_ALLOC_ENABLE=1")
	}
	for _, name := range []string{"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"} {
		env = append(env, name+"="+strconv.Itoa(threads))
	}
	return env
}

// ask sends a request and waits for the answer.
func (p *python) ask(r request, data any) (a answer, err error) {
	if data != nil {
		r.Bytes = binary.Size(data)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if _, err = p.to.Write(append(line, '\n')); err == nil && data != nil {
		err = binary.Write(p.to, binary.NativeEndian, data)
	}
	if err == nil {
		if line, err = p.from.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &a)
		}
	}
	if err != nil {
		return a, p.failure(err)
	}
	if a.Error != "" {
		return a, errors.New(p.command.Path + ": " + a.Error)
	}
	return a, nil
}

// failure says why the process no longer answers: with the last line that it has written, and how it ended.
func (p *python) failure(err error) error {
	p.to.Close()
	if ended := p.command.Wait(); ended != nil {
		err = ended
	}
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		err = fmt.Errorf("%s (%w)", last, err)
	} else if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		err = fmt.Errorf("it has ended without an answer, as no Python does (%w; -python names another)", err)
	}
	return fmt.Errorf("%s: %w", p.command.Path, err)
}

// prepare makes the process ready for a case of kernel k, and returns the names of the sides that can do it.
func (p *python) prepare(k *kernel, s shape, m *memory) ([]string, error) {
	r := request{
		Do: "prepare", Kernel: k.name, Vocab: s.vocab, Dim: s.dim, IDs: s.ids, Seq: s.seq, N: s.n,
		Scale: m.scale, Lists: len(m.ids),
	}
	var ids []int64
	for _, list := range m.ids {
		for _, id := range list {
			ids = append(ids, int64(id))
		}
	}
	a, err := p.ask(r, ids)
	return a.Sides, err
}

// result returns what comes out when a side does the case for the first list of ids.
func (p *python) result(side string) ([]float32, error) {
	a, err := p.ask(request{Do: "result", Side: side}, nil)
	if err != nil {
		return nil, err
	}
	return p.floats(a)
}

// floats returns the numbers behind an answer.
func (p *python) floats(a answer) ([]float32, error) {
	out := make([]float32, a.Bytes/4)
	if err := binary.Read(p.from, binary.NativeEndian, out); err != nil {
		return nil, p.failure(err)
	}
	return out, nil
}

// run returns how long a side takes for some calls, after others that nobody measures.
func (p *python) run(side string, first, calls, warm int) (time.Duration, error) {
	a, err := p.ask(request{Do: "run", Side: side, First: first, Calls: calls, Warm: warm}, nil)
	return time.Duration(a.NS), err
}

// stop ends the process.
func (p *python) stop() {
	p.to.Close()
	_ = p.command.Wait() // all that it had to say has been read
}
