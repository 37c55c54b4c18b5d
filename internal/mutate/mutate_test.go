package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
)

func TestChanges(t *testing.T) {
	s := parse("x_amd64.s", `#define BOTH(LOAD, x, y) \
	LOAD(8(SI)(DX*4), x); \
	VADDPS x, y, x // not this; and not that
TEXT ·fAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX // nor this
loop:
	BOTH(MASKED_LOAD, Z0, Z1)
	VMOVUPS.Z (SI), K1, Z2
	ADDQ $8, SI
	JLT  loop
	PCALIGN $32
	VZEROUPPER
	RET
`)
	got := map[string][]string{}
	for _, st := range s.statements {
		if s.text[st.start:st.end] == "" || strings.Join(strings.Fields(s.text[st.start:st.end]), " ") != st.text {
			t.Errorf("%q stands at %q", st.text, s.text[st.start:st.end])
		}
		for _, c := range changes(s, st, nil) {
			got[st.text] = append(got[st.text], c.kind+" "+c.text)
		}
	}
	want := map[string][]string{
		"LOAD(8(SI)(DX*4), x)": {"drop NOP", "offset LOAD(12(SI)(DX*4), x)", "offset LOAD(8(SI)(DX*8), x)", "register LOAD(8(DX)(DX*4), x)",
			"register LOAD(8(SI)(SI*4), x)", "register LOAD(8(SI)(DX*4), y)"},
		"VADDPS x, y, x": {"drop NOP", "operation VSUBPS x, y, x", "register VADDPS y, y, x", "register VADDPS x, x, x",
			"register VADDPS x, y, y"},
		"MOVQ a+0(FP), BX":          {"drop NOP", "register MOVQ a+0(FP), SI"},
		"BOTH(MASKED_LOAD, Z0, Z1)": {"move BOTH(VECTOR, Z0, Z1)", "register BOTH(MASKED_LOAD, Z1, Z1)", "register BOTH(MASKED_LOAD, Z0, Z2)"},
		"VMOVUPS.Z (SI), K1, Z2": {"drop NOP", "mask VMOVUPS (SI), K1, Z2", "offset VMOVUPS.Z 4(SI), K1, Z2",
			"register VMOVUPS.Z (BX), K1, Z2", "mask VMOVUPS (SI), Z2", "register VMOVUPS.Z (SI), K2, Z2", "register VMOVUPS.Z (SI), K1, Z0"},
		"ADDQ $8, SI": {"drop NOP", "operation SUBQ $8, SI", "constant ADDQ $9, SI", "register ADDQ $8, BX"},
		"JLT loop":    {"drop NOP", "condition JLE loop", "condition JGE loop"},
		"VZEROUPPER":  {"drop NOP"},
		"RET":         {"drop NOP"},
	}
	for text, all := range want {
		slices.Sort(all)
		slices.Sort(got[text])
		if !slices.Equal(got[text], all) {
			t.Errorf("%s:\ngot  %s\nwant %s", text, strings.Join(got[text], "; "), strings.Join(all, "; "))
		}
		delete(got, text)
	}
	if len(got) > 0 {
		t.Errorf("also %v", got)
	}
}

// TestEquivalents: each line of the list is still about something, and says why.
func TestEquivalents(t *testing.T) {
	if runtime.GOARCH != "amd64" || isatest.Sampled() {
		t.Skip("it is about sources, which are the same elsewhere")
	}
	rules, err := parseRules(equivalents)
	if err != nil {
		t.Fatal(err)
	}
	var all []*mutant
	for arch, names := range levelsOf {
		a, err := readAssembly(readFile, "../..", arch)
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range names {
			all = append(all, a.mutants(level, levels[level])...)
		}
	}
	files, err := checkFiles("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		_, mutants, err := readChecks(readFile, filepath.Join("../..", f), f, 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mutants...)
	}
	for _, r := range rules {
		if !slices.ContainsFunc(all, r.matches) {
			t.Errorf("equivalent.txt:%d: no mutant is %s", r.line, r.pattern)
		}
	}
	if _, err := parseRules("a => b"); err == nil {
		t.Error("a rule without a reason was taken")
	}
}

// TestToy tries all mutants of a small package that is partly tested. It needs the go command for this machine.
func TestToy(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" ||
		isatest.Sampled() || os.Getenv("ROWVEC_ISA") != "" || os.Getenv("GOAMD64") != "" ||
		!slices.Contains(isatest.Levels(t), isa.AVX2) {
		t.Skip("elsewhere")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module toy\n\ngo 1.26\n",
		"toy.go": `package toy

func sumAVX2(p *int64, n int) (s int64)

func spinAVX2(n int)

func Sum(x []int64) int64 {
	if len(x) == 0 {
		return 0
	}
	if len(x) > 1000000 {
		return -1
	}
	return sumAVX2(&x[0], len(x))
}

func Spin(n int) { spinAVX2(n) }
`,
		"toy_amd64.s": `#include "textflag.h"

TEXT ·sumAVX2(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	XORL AX, AX
	PREFETCHT1 (SI)
	MOVQ $-7, DX
loop:
	ADDQ (SI), AX
	ADDQ $8, SI
	DECQ CX
	JNE  loop
	MOVQ AX, s+16(FP)
	RET

TEXT ·spinAVX2(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
spin:
	DECQ CX
	JNE  spin
	RET
`,
		"toy_test.go": `package toy_test

import (
	"testing"

	"toy"
)

func TestSum(t *testing.T) {
	if got := toy.Sum([]int64{1, 20, 300}); got != 321 {
		t.Error(got)
	}
	if got := toy.Sum(nil); got != 0 {
		t.Error(got)
	}
}

func TestSpin(t *testing.T) { toy.Spin(3) }

func TestPreemption(t *testing.T) { t.Error("is not to be run") }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	try := func(o options) (status map[string]string, report string, enough bool) {
		o.root, o.arch, o.level, o.jobs, o.batch, o.json = dir, "amd64", "avx2", 2, 40, filepath.Join(dir, "all.json")
		var out strings.Builder
		enough, err := run(&o, &out, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(o.json)
		if err != nil {
			t.Fatal(err)
		}
		status = map[string]string{}
		for line := range strings.Lines(string(data)) {
			var m mutant
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			status[fmt.Sprintf("%s:%d %s => %s", m.File, m.Line, m.Was, m.Is)] = m.Status
		}
		return status, out.String(), enough
	}
	check := func(status map[string]string, want map[string]string) {
		t.Helper()
		for mutant, s := range want {
			if status[mutant] != s {
				t.Errorf("%s: %q, want %q", mutant, status[mutant], s)
			}
		}
	}

	// The operand of MOVQ $-7 matters to nobody; DECQ leaves the only flags that spin looks at.
	status, report, enough := try(options{match: "MOVQ .-7|ADDQ .*NOP|ADDQ .8, SI .*(9|SUBQ)|spin.*(DECQ .*NOP|JNE .*NOP)|PREFETCH|JNE", least: 90})
	check(status, map[string]string{
		"toy_amd64.s:8 MOVQ $-7, DX => MOVQ $(-7+1), DX": survived,
		"toy_amd64.s:10 ADDQ (SI), AX => NOP":            failed,
		"toy_amd64.s:11 ADDQ $8, SI => SUBQ $8, SI":      failed,
		"toy_amd64.s:20 DECQ CX => NOP":                  tooLong,
		"toy_amd64.s:21 JNE spin => NOP":                 survived,
		"toy_amd64.s:7 PREFETCHT1 (SI) => NOP":           equivalent,
		"toy_amd64.s:13 JNE loop => JEQ loop":            failed,
		"toy_amd64.s:8 MOVQ $-7, DX => MOVL $-7, DX":     survived,
		"toy_amd64.s:8 MOVQ $-7, DX => NOP":              survived,
		"toy_amd64.s:11 ADDQ $8, SI => ADDQ $9, SI":      failed,
		"toy_amd64.s:11 ADDQ $8, SI => NOP":              failed,
		"toy_amd64.s:21 JNE spin => JEQ spin":            survived,
		"toy_amd64.s:13 JNE loop => NOP":                 failed,
	})
	if enough {
		t.Error("fewer than 90 percent are caught, and that was enough")
	}
	for _, part := range []string{"toy_amd64.s:8 sumAVX2 (avx2): MOVQ $-7, DX  =>  MOVQ $(-7+1), DX", "a prefetch changes no result"} {
		if !strings.Contains(report, part) {
			t.Errorf("the report has no %q:\n%s", part, report)
		}
	}

	status, _, enough = try(options{checks: true, least: 10})
	check(status, map[string]string{
		"toy.go:8 len(x) == 0 => true":                      failed,
		"toy.go:8 len(x) == 0 => false":                     crashed,
		"toy.go:8 len(x) == 0 => !(len(x) == 0)":            crashed,
		"toy.go:11 len(x) > 1000000 => true":                failed,
		"toy.go:11 len(x) > 1000000 => false":               survived,
		"toy.go:11 len(x) > 1000000 => len(x) >= 1000000":   survived,
		"toy.go:11 len(x) > 1000000 => !(len(x) > 1000000)": failed,
	})
	if !enough {
		t.Error("more than 10 percent are caught, and that was not enough")
	}
	if now, err := os.ReadFile(filepath.Join(dir, "toy.go")); err != nil || strings.Contains(string(now), "mutate") {
		t.Errorf("a file of the checkout was touched: %v\n%s", err, now)
	}
}

func TestInterval(t *testing.T) {
	low, high := interval(81, 263) // of Newcombe, 1998
	if fmt.Sprintf("%.4f %.4f", low, high) != "0.2553 0.3662" {
		t.Errorf("%.4f to %.4f", low, high)
	}
}
