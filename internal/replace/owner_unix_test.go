//go:build unix

package replace

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// owning notes what is asked of a file, and grants no more than it may.
type owning struct {
	Temporary
	asked *[][2]int
	may   func(uid, gid int) bool
}

func (f owning) Chown(uid, gid int) error {
	*f.asked = append(*f.asked, [2]int{uid, gid})
	if !f.may(uid, gid) {
		return syscall.EPERM
	}
	return nil
}

// TestPermissionsMeanwhile: nobody else may open what is to replace a file, whoever that is for, before it is known.
func TestPermissionsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	defer syscall.Umask(syscall.Umask(0))
	create := Create
	defer func() { Create = create }()
	for _, want := range []fs.FileMode{0o666, 0o600} { // a new one, and one that replaces it
		Create = func(name string, mode fs.FileMode) (Temporary, error) {
			f, err := create(name, mode)
			if err != nil {
				return nil, err
			}
			info, err := os.Stat(name)
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("created as %v, %v, want %v", info.Mode(), err, want)
			}
			return f, nil
		}
		if err := File(path, text("new")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("ends as %v, %v", info.Mode(), err)
		}
	}
}

// TestOwner: the owner and the group stay, or the group alone; if neither may, the group's permissions are not another one's.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	create := Create
	defer func() { Create = create }()
	for _, c := range []struct {
		may   func(uid, gid int) bool
		tries int
		want  fs.FileMode
	}{
		{func(uid, gid int) bool { return true }, 1, 0o664},
		{func(uid, gid int) bool { return uid == -1 }, 2, 0o664},
		{func(uid, gid int) bool { return false }, 2, 0o604},
	} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o664); err != nil {
			t.Fatal(err)
		}
		old, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		is := old.Sys().(*syscall.Stat_t)
		var asked [][2]int
		Create = func(name string, mode fs.FileMode) (Temporary, error) {
			f, err := create(name, mode)
			return owning{f, &asked, c.may}, err
		}
		if err := File(path, text("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != c.want {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, c.want)
		}
		want := [][2]int{{int(is.Uid), int(is.Gid)}, {-1, int(is.Gid)}}[:c.tries]
		if len(asked) != len(want) || asked[0] != want[0] || asked[len(asked)-1] != want[len(want)-1] {
			t.Errorf("asked for %v, want %v", asked, want)
		}
	}
}

// TestRealOwner: as root, what belongs to somebody else still does.
func TestRealOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("is not root")
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Skip(err)
	}
	if err := File(path, text("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if is := info.Sys().(*syscall.Stat_t); is.Uid != 1234 || is.Gid != 2345 || info.Mode().Perm() != 0o640 {
		t.Errorf("of %d:%d, %v", is.Uid, is.Gid, info.Mode())
	}
}
