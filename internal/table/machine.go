package table

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine says where figures were measured, without naming the host.
type Machine struct {
	Cores     int    `json:"cores"`
	CPU       string `json:"cpu"`
	Go        string `json:"go"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel"`
	MemoryMiB int    `json:"memory_mib"`
}

// ThisMachine describes the machine that it runs on. What the system does not
// say (no /proc) is "unknown" or 0.
func ThisMachine() Machine {
	return Machine{
		Cores:     runtime.NumCPU(),
		CPU:       field("/proc/cpuinfo", "model name"),
		Go:        runtime.Version(),
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		Kernel:    firstLine("/proc/sys/kernel/osrelease"),
		MemoryMiB: mebibytes(field("/proc/meminfo", "MemTotal")),
	}
}

// field returns the value of the first "key : value" line of a file.
func field(path, key string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	return fieldOf(text, key)
}

func fieldOf(text []byte, key string) string {
	for line := range bytes.Lines(text) {
		name, value, ok := strings.Cut(string(line), ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// mebibytes reads the "16384 kB" of /proc/meminfo.
func mebibytes(s string) int {
	kib, err := strconv.Atoi(strings.TrimSuffix(s, " kB"))
	if err != nil {
		return 0
	}
	return kib / 1024
}
