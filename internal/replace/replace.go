// Package replace writes files whole or not at all: whoever opens the path, also after a crash or a loss of power, finds
// what was there before or all that is new.
package replace

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// ErrNotRegular says that there is something else at a path than a file, or a link to one.
var ErrNotRegular = errors.New("not a regular file")

// Temporary is the file that becomes the new one.
type Temporary interface {
	Write(b []byte) (n int, err error)
	WriteAt(b []byte, at int64) (n int, err error)
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
	Sync() error
	Close() error
}

// Create makes a new file, and Rename gives it the place of another. They are variables for tests of what happens when
// one of the steps fails.
var (
	Create = func(name string, mode fs.FileMode) (Temporary, error) {
		return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	}
	Rename = os.Rename
)

// File replaces the file at path, or makes it, by one that write writes to a temporary file in the same directory. The
// content is on the disk before the file takes its place, and so is the directory before File returns, where the system can
// do that. A file that is replaced hands on its permissions, and its owner and group where they may be given; a group that may
// not loses its permissions, which were another one's. Nobody else may open the new file, at any time, who may not open the old one. Of a
// symbolic link, to a file or to nothing, the link is replaced. It is an error if there is anything else at path, such as a directory, a
// device or a pipe, or if the system does not say what there is. If there is an error, or a panic in write, the temporary file is removed, and what was at path is
// still there; but for an error of the directory, when it has been replaced, which says so.
func File(path string, write func(f Temporary) error) (err error) {
	if path == "" {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT} // as package os has it, where the temporary file had a name
	}
	old, missing := os.Stat(path)
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		return missing // there may be anything
	}
	if missing == nil && !old.Mode().IsRegular() { // Rename would put a file in the place of /dev/null, if it may
		return &fs.PathError{Op: "replace", Path: path, Err: ErrNotRegular}
	}
	mode := fs.FileMode(0o666)
	if missing == nil {
		mode = 0o600 // until it is known what else may be
	}
	f, name, err := create(path, mode)
	if err != nil {
		return err
	}
	open, done := true, false
	defer func() {
		if open {
			err = errors.Join(err, f.Close())
		}
		if !done {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	if missing == nil {
		if err := f.Chmod(handOn(f, old)); err != nil && runtime.GOOS != "windows" {
			return err
		}
	}
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	open = false
	if err := f.Close(); err != nil {
		return err
	}
	if err := Rename(name, path); err != nil {
		return err
	}
	done = true
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s has been replaced and may not survive a loss of power: %w", path, err)
	}
	return nil
}

// create makes a file beside path with a name that is not in use, and not too long where that of path is not.
func create(path string, mode fs.FileMode) (f Temporary, name string, err error) {
	dir, base := filepath.Split(path)
	base = strings.ToValidUTF8(base[:min(len(base), 200)], "")
	for range 100 {
		name = fmt.Sprintf("%s%s.%08x.tmp", dir, base, rand.Uint32())
		if f, err = Create(name, mode); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, name, err
}

// syncDirectory has the directory written to the disk: only then does the new name outlast a loss of power. Not every
// system and file system can do that.
func syncDirectory(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
