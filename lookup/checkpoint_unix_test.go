//go:build unix && !aix && !illumos && !solaris

package lookup_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// TestLoadOfLess: a file that has fewer bytes than it says, as one that is cut off meanwhile and as those of the kernel have, is an
// error of reading it, and not of its format.
func TestLoadOfLess(t *testing.T) {
	const path = "/sys/devices/system/cpu/online" // it says 4,096 bytes
	info, err := os.Stat(path)
	content, err2 := os.ReadFile(path)
	if err != nil || err2 != nil || info.Size() < 8 || len(content) >= 8 {
		t.Skip("there is no such file here")
	}
	if _, err := lookup.Load(path, nil); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "rowvec: lookup.Load: ") {
		t.Errorf("got %v", err)
	}
}
