package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var errInjected = errors.New("injected")

// failing fails at the step that is called at.
type failing struct {
	Temporary
	at string
}

func (f failing) Write(b []byte) (int, error) {
	if f.at == "write" {
		n, _ := f.Temporary.Write(b[:len(b)/2])
		return n, errInjected
	}
	return f.Temporary.Write(b)
}

func (f failing) Sync() error {
	if f.at == "sync" {
		return errInjected
	}
	return f.Temporary.Sync()
}

func (f failing) Close() error {
	err := f.Temporary.Close()
	if f.at == "close" {
		return errInjected
	}
	return err
}

// inject has File fail at a step.
func inject(t *testing.T, at string) {
	t.Helper()
	create, rename := Create, Rename
	t.Cleanup(func() { Create, Rename = create, rename })
	Create = func(name string, mode fs.FileMode) (Temporary, error) {
		if at == "create" {
			return nil, errInjected
		}
		f, err := create(name, mode)
		return failing{f, at}, err
	}
	if at == "rename" {
		Rename = func(string, string) error { return errInjected }
	}
}

func text(s string) func(f Temporary) error {
	return func(f Temporary) error {
		_, err := f.Write([]byte(s))
		return err
	}
}

// expect reports content of a directory other than this one file.
func expect(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if want == "" {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a file: %q, %v", got, err)
		}
	} else if string(got) != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, content := range []string{"old", "a new one"} {
		if err := File(path, text(content)); err != nil {
			t.Fatal(err)
		}
		expect(t, path, content)
	}
	if err := File(filepath.Join(path, "no directory"), text("")); err == nil {
		t.Error("no error")
	}
}

func TestFailures(t *testing.T) {
	for _, before := range []string{"", "old"} {
		for _, at := range []string{"create", "write", "sync", "close", "rename"} {
			t.Run(at+"/"+before, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x")
				if before != "" {
					if err := File(path, text(before)); err != nil {
						t.Fatal(err)
					}
				}
				inject(t, at)
				if err := File(path, text("new")); !errors.Is(err, errInjected) {
					t.Errorf("error %v", err)
				}
				expect(t, path, before)
			})
		}
	}
}

func TestPanic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	func() {
		defer func() {
			if recover() != "injected" {
				t.Error("no panic")
			}
		}()
		_ = File(path, func(Temporary) error { panic("injected") })
	}()
	expect(t, path, "")
}

// TestDirectory: a directory that cannot be opened any more is an error which says that the file has been replaced.
func TestDirectory(t *testing.T) {
	rename := Rename
	defer func() { Rename = rename }()
	parent := t.TempDir()
	dir, moved := filepath.Join(parent, "dir"), filepath.Join(parent, "moved")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x")
	if err := File(path, text("old")); err != nil {
		t.Fatal(err)
	}
	Rename = func(from, to string) error { return errors.Join(rename(from, to), rename(dir, moved)) }
	if err := File(path, text("new")); runtime.GOOS != "windows" && (!errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "has been replaced")) {
		t.Errorf("error %v", err)
	}
	expect(t, filepath.Join(moved, "x"), "new")
}

// TestNoFile: what is not a file stays what it is.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "x"), filepath.Join(dir, "link")
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	paths := []string{path}
	if _, err := os.Stat(os.DevNull); err == nil { // not everywhere
		paths = append(paths, os.DevNull)
	}
	if err := os.Symlink(path, link); err == nil { // nor can everybody make links
		paths = append(paths, link)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Where the check is missing, a real /dev/null is not to be replaced by the test.
	create := Create
	defer func() { Create = create }()
	Create = func(name string, mode fs.FileMode) (Temporary, error) { return nil, errInjected }
	for _, path := range paths {
		err := File(path, text("new"))
		var what *fs.PathError
		if !errors.As(err, &what) || what.Path != path || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if err := File("", text("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no name: error %v", err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("the directory holds %v, %v", after, err)
	}
}

// TestLink: in the place of a link to a file there is a file, and the other is as it was.
func TestLink(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if err := File(link, text("new")); err != nil {
		t.Error(err)
	}
	expect(t, link, "new")
	expect(t, path, "old")
}

// TestUnknown: what nobody can look at stays as it is.
func TestUnknown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.Symlink(path, path); err != nil {
		t.Skip(err)
	}
	err := File(path, text("new"))
	if what := (*fs.PathError)(nil); !errors.As(err, &what) || what.Path != path {
		t.Errorf("error %v", err)
	}
	if to, err := os.Readlink(path); err != nil || to != path {
		t.Errorf("a link to %s, %v", to, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

// TestRealRename: a rename that fails by itself.
func TestRealRename(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := File(path, func(Temporary) error { return os.MkdirAll(filepath.Join(path, "y"), 0o777) }); err == nil {
		t.Error("no error")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

// TestNameInUse: a name that is taken is left alone, and another found.
func TestNameInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	create, tries := Create, 0
	defer func() { Create = create }()
	Create = func(name string, mode fs.FileMode) (Temporary, error) {
		if tries++; tries < 3 {
			return nil, fs.ErrExist
		}
		return create(name, mode)
	}
	if err := File(path, text("new")); err != nil || tries != 3 {
		t.Errorf("%d tries, error %v", tries, err)
	}
	expect(t, path, "new")
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no such permissions")
	}
	path := filepath.Join(t.TempDir(), "x")
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o444} {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := File(path, text("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, mode)
		}
		os.Remove(path)
	}
}

// TestLongName: whatever name a file may have, it can be replaced.
func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 250))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Skip(err)
	}
	if err := File(path, func(f Temporary) error {
		_, err := f.Write([]byte("new"))
		return err
	}); err != nil {
		t.Error(err)
	}
}
