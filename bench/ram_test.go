package main

import (
	"runtime"
	"testing"
	"testing/fstest"
)

func TestRAM(t *testing.T) {
	const kb = 1 << 10
	machine := map[string]string{
		"proc/meminfo":     "MemTotal:       24684416 kB\nMemFree:        19000000 kB\nMemAvailable:   23000000 kB\nHugePages_Total:       0\n",
		"proc/self/cgroup": "0::/\n",
	}
	all := ram{24684416 * kb, 23000000 * kb}
	for name, c := range map[string]struct {
		files map[string]string
		want  ram
	}{
		"no limits": {nil, all},
		"no groups": {map[string]string{"proc/self/cgroup": ""}, all},
		"version 2, limit of the group above": {map[string]string{
			"proc/self/cgroup":                        "0::/user/me\n",
			"sys/fs/cgroup/user/me/memory.max":        "max\n",
			"sys/fs/cgroup/user/me/memory.current":    "5000\n",
			"sys/fs/cgroup/user/memory.max":           "8000000000\n",
			"sys/fs/cgroup/user/memory.current":       "3000000000\n",
			"sys/fs/cgroup/user/memory.stat":          "anon 2000000000\ninactive_file 900000000\nactive_file 100000000\n",
			"sys/fs/cgroup/user/other/memory.max":     "1\n",
			"sys/fs/cgroup/user/other/memory.current": "1\n",
		}, ram{8000000000, 5900000000}},
		"version 2, as seen from within": {map[string]string{
			"sys/fs/cgroup/memory.max":     "1000000\n",
			"sys/fs/cgroup/memory.current": "1000001\n",
		}, ram{1000000, 0}},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:devices:/\n4:memory:/a/b\n1:cpu:/c\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/b/memory.usage_in_bytes": "70000\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "4000000000\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes":   "3000000000\n",
			"sys/fs/cgroup/memory/a/memory.stat":             "inactive_file 7\ntotal_inactive_file 500000000\n",
		}, ram{4000000000, 1500000000}},
		"a limit above what the machine has": {map[string]string{
			"sys/fs/cgroup/memory.max":     "80000000000\n",
			"sys/fs/cgroup/memory.current": "1000000\n",
		}, all},
	} {
		root := fstest.MapFS{}
		for _, files := range []map[string]string{machine, c.files} {
			for file, text := range files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		if got, known := ramOf(root); !known || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, known, c.want)
		}
	}
	for name, info := range map[string]string{"empty": "", "no numbers": "MemTotal: x\nMemAvailable:\n", "old": "MemTotal: 5 kB\n"} {
		if got, known := ramOf(fstest.MapFS{"proc/meminfo": {Data: []byte(info)}}); known || got != (ram{}) {
			t.Errorf("%s: %+v, %v", name, got, known)
		}
	}
	if got, known := thisRAM(); known != (runtime.GOOS == "linux") || known && (got.Free <= 0 || got.Total < got.Free) {
		t.Errorf("%+v, %v", got, known)
	}
}
