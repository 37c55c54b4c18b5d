package main

import (
	"os"
	"runtime"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"github.com/rowvec/rowvec/internal/isa"
)

// host says what a figure was measured on.
type host struct {
	CPU    string   `json:"cpu"`
	OS     string   `json:"os"`
	Arch   string   `json:"arch"`
	Go     string   `json:"go"`
	CPUs   int      `json:"cpus"` // that Go uses
	Levels []string `json:"levels"`
}

func thisHost() host {
	h := host{cpuName(), runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.GOMAXPROCS(0), nil}
	for _, level := range isa.Available {
		h.Levels = append(h.Levels, level.String())
	}
	return h
}

// String returns one line.
func (h host) String() string {
	return h.CPU + ", " + plural(h.CPUs, "CPU") + "; " + h.OS + "/" + h.Arch + ", " + h.Go +
		"; " + strings.Join(h.Levels, ", ")
}

// cpuName returns the name that the processor gives itself. Those of arm64 have none, but Linux may know one.
func cpuName() string {
	if name := strings.TrimSpace(cpuid.CPU.BrandName); name != "" {
		return name
	}
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		key, name, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); key == "model name" || key == "Model" || key == "Hardware" {
			return strings.TrimSpace(name)
		}
	}
	return "unknown CPU"
}
