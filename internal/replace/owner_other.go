//go:build !unix

package replace

import "io/fs"

// handOn returns the permissions of old: there are no owners and groups.
func handOn(_ Temporary, old fs.FileInfo) fs.FileMode { return old.Mode().Perm() }
