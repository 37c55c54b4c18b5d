package main

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// ram says how much memory a machine has, in bytes.
type ram struct {
	Total int64 `json:"total_bytes"`
	Free  int64 `json:"free_bytes"` // that programs can have: what the system would drop for them counts
}

// thisRAM returns the memory of this machine, or of the container that confines this process. Only Linux says.
func thisRAM() (r ram, known bool) { return ramOf(os.DirFS("/")) }

func ramOf(root fs.FS) (r ram, known bool) {
	info := numbersIn(root, "proc/meminfo")
	r = ram{info["MemTotal"] << 10, info["MemAvailable"] << 10}
	if r.Total <= 0 || r.Free <= 0 {
		return ram{}, false
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		// The number of a hierarchy, its controllers, and the group that this process is in. Version 2 names no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		group := path.Clean("/" + parts[2])
		for ; ; group = path.Dir(group) { // whatever confines a group confines those in it
			switch parts[1] {
			case "":
				r.confine(root, path.Join("sys/fs/cgroup", group), "memory.max", "memory.current", "inactive_file")
			case "memory":
				r.confine(root, path.Join("sys/fs/cgroup/memory", group),
					"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
			}
			if group == "/" {
				break
			}
		}
	}
	return r, true
}

// confine makes r what a control group leaves of it. What it has in use holds files that can be dropped.
func (r *ram) confine(root fs.FS, group, limit, usage, files string) {
	most, err := numberIn(root, path.Join(group, limit))
	if err != nil { // there is none: "max" is no number
		return
	}
	used, err := numberIn(root, path.Join(group, usage))
	if err != nil {
		return
	}
	used -= numbersIn(root, path.Join(group, "memory.stat"))[files]
	r.Total = min(r.Total, most)
	r.Free = max(0, min(r.Free, most-used))
}

func numberIn(root fs.FS, file string) (int64, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// numbersIn returns the numbers of a file that has one in each line, behind its name.
func numbersIn(root fs.FS, file string) map[string]int64 {
	text, _ := fs.ReadFile(root, file)
	all := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) >= 2 {
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
				all[strings.TrimSuffix(words[0], ":")] = n
			}
		}
	}
	return all
}
