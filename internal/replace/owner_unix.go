//go:build unix

package replace

import (
	"io/fs"
	"syscall"
)

// handOn gives f the owner and the group of old, or the group alone, if it may, and returns the permissions that are left.
func handOn(f Temporary, old fs.FileInfo) fs.FileMode {
	mode := old.Mode().Perm()
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok || f.Chown(int(stat.Uid), int(stat.Gid)) == nil || f.Chown(-1, int(stat.Gid)) == nil {
		return mode
	}
	return mode &^ 0o070
}
