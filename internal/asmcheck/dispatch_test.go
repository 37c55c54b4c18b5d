package asmcheck

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestDispatchIsFollowed shows Dispatch ways to two functions, right ones and wrong ones.
func TestDispatchIsFollowed(t *testing.T) {
	const (
		lower  = "fAVX2: called at level Portable"
		higher = "fAVX512: called at level AVX2"
		lowest = "fAVX512: called at level Portable"
		never  = "fAVX512: not called at level AVX512"
	)
	for _, test := range []struct{ code, want string }{
		{"func F() { if active == isa.AVX512 { fAVX512() } else if active != isa.Portable { fAVX2() } }", ""},
		{"func F() { if active == isa.Portable { return }; if active == isa.AVX512 { fAVX512() }; fAVX2() }", ""},
		{"func F() { if active != isa.Portable { do() } }; func do() { fAVX2(); if wide() { fAVX512() } }\n" +
			"func wide() bool { return cols > 32 && active == isa.AVX512 }", ""},
		{"func (a *A) F() { if active == isa.Portable || a == nil { panic(a) }; a.do() }\n" +
			"func (a *A) do() { switch wide := active == isa.AVX512; { case wide && a.x: fAVX512(); case wide: fAVX512()\n" +
			"default: fAVX2() } }", ""},
		{"func F[T any]() { if active == isa.Portable { return }; g[T]() }\n" +
			"func g[T any]() { fAVX2(); switch { case active == isa.AVX2: return }\n" +
			"go func() { for range 9 { fAVX512() } }() }", ""},
		{"func F() { if active == isa.Portable { return }; fAVX2(); _ = active != isa.AVX512 || fAVX512() }", ""},
		{"func F() { if active == isa.Portable { return }; fAVX2(); switch x { case 1: fAVX2() }; select {}\n" +
			"if !(active == isa.AVX512) { return }; fAVX512() }", ""},
		{"func (a *A) F() { a.do() }; func (a *A) do() { if active == isa.Portable { return }; a.both(); vek32.Add() }\n" +
			"func (b *B) F() { b.do() }; func (b *B) do() {}\n" +
			"func (a A) both() { if active == isa.AVX512 { fAVX512() }; fAVX2() }; func (b B) both() {}", ""},

		{"func F() { if active != isa.Portable { fAVX2() } }", never},
		{"func F() { if active != isa.Portable { fAVX2() } }\n" +
			"func unused() { if active == isa.AVX512 { fAVX512() } }", never},
		{"func F() { if active == isa.Portable { return }; if active == isa.AVX2 { fAVX2(); return; fAVX512() }\n" +
			"fAVX2() }", never},
		{"func F() { if active == isa.Portable { return }; if active == isa.AVX2 { fAVX512() }; fAVX2()\n" +
			"fAVX512() }", higher},
		{"func F() { switch active { case isa.AVX512: fAVX512(); case isa.AVX2: fAVX2() } }",
			lower + "; " + higher + "; " + lowest},
		{"func F() { if active == isa.Portable { return }; fAVX2(); if active == isa.AVX512 || x { fAVX512() } }", higher},
		{"func F() { if active == isa.Portable { return }; fAVX2(); f := fAVX512; f() }", higher},
		{"func F() { if active == isa.Portable { return }; fAVX2()\n" +
			"switch { case active == isa.AVX512: default: fAVX512() } }", higher + "; " + never},
		{"func F() { if active == isa.AVX512 { fAVX512() }; fAVX2() }", lower},
		{"func F() { if active == isa.AVX512 { fAVX512() }; if active == isa.Portable { use() }; fAVX2() }", lower},
		{"func F() { if active == isa.Portable { return }; if active == isa.AVX512 { fAVX512() }; fAVX2() }; var _ = do\n" +
			"func do() { fAVX2() }", lower},
		{"func F() { if active == isa.Portable { return }; if active == isa.AVX512 { fAVX512() }; a.x.do() }\n" +
			"func (a *A) do() { fAVX2() }; func (b *B) F() { c := b; c.do() }; func (b *B) do() {}", lower},
		{"func F() { if active != isa.Portable { fAVX2() }; if active == isa.AVX512 { fAVX512() }; vek32.Add() }",
			"vek32.Add: called at level Portable"},
		{"func F() { wide := active == isa.AVX512; if x { wide = true }; if active == isa.Portable { return }\n" +
			"if wide { fAVX512() }; fAVX2() }", higher},
		{"func F() { goto end; end: if active == isa.AVX512 { fAVX512() }\n" +
			"if active != isa.Portable { fAVX2() } }", "F: goto, which this test does not follow"},
	} {
		source := "package k\n\nimport (\"example/isa\"; \"example/vek32\")\n\nfunc fAVX2() bool\nfunc fAVX512() bool\n\n" +
			strings.ReplaceAll(test.code, "active", "isa.Active()")
		problems, err := Dispatch(fstest.MapFS{
			"k_amd64.go":     {Data: []byte(source)},
			"k_arm64.go":     {Data: []byte("package k\n\nfunc G() { fAVX2() }")},
			"k_noasm.go":     {Data: []byte("//go:build purego || !(amd64 || arm64)\n\npackage k\n\nfunc H() { fAVX2() }")},
			"k_test.go":      {Data: []byte("package k\n\nfunc TestF() { fAVX2() }")},
			"inner/inner.go": {Data: []byte("package inner\n\nfunc I() { fAVX2() }")},
		}, "amd64")
		if err != nil {
			t.Error(err)
		}
		if got := strings.Join(problems, "; "); got != test.want {
			t.Errorf("%s\nproblems %q, want %q", test.code, got, test.want)
		}
	}
}
