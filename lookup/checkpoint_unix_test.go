//go:build unix && !aix && !illumos && !solaris

package lookup_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rowvec/rowvec/lookup"
)

// TestLoadOfPipe: a named pipe that nobody writes to is refused, and not waited for.
func TestLoadOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := lookup.Load(path, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if of := (*fs.PathError)(nil); !errors.As(err, &of) || of.Path != path {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Load waits for somebody to write to the pipe")
	}
}
