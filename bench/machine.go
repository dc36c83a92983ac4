package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// machine describes what the numbers depend on. It warns about what makes them worthless.
// Facts that the system hides are left out.
func machine(data string) []string {
	facts := []string{fmt.Sprintf("machine: %d cores%s, %s", runtime.NumCPU(), processor(), runtime.Version())}
	if load, ok := load(); ok {
		fact := fmt.Sprintf("load at the start: %.2f", load)
		if load > 0.5 {
			fact += "; warning: other programs use the machine, do not compare these numbers with others"
		}
		facts = append(facts, fact)
	}
	device, kind := fileSystem(data)
	fact := "file system of the data: " + kind
	switch {
	case kind == "ext4" && journal(device) == "none":
		fact += "; warning: it has no journal, and crawlers that create many files may be several times slower there"
	case kind == "ext4" && journal(device) == "unknown":
		fact += "; whether it has a journal is not known"
	case kind == "tmpfs":
		fact += "; warning: it is in memory, and syncs cost nothing"
	}
	return append(facts, fact)
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return " of " + strings.TrimSpace(value)
		}
	}
	return ""
}

// load is the load average of the last minute.
func load() (float64, bool) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	value, err := strconv.ParseFloat(first, 64)
	return value, err == nil
}

// fileSystem finds the device and the type of the file system of a folder: the mount with
// the device number of the folder.
func fileSystem(dir string) (device, kind string) {
	var stat syscall.Stat_t
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || syscall.Stat(dir, &stat) != nil {
		return "", "unknown"
	}
	major, minor := stat.Dev>>8&0xfff|stat.Dev>>32&^0xfff, stat.Dev&0xff|stat.Dev>>12&^0xff
	for line := range strings.Lines(string(text)) {
		before, after, found := strings.Cut(line, " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if found && len(fields) > 2 && len(rest) > 1 && fields[2] == fmt.Sprintf("%d:%d", major, minor) {
			return rest[1], rest[0]
		}
	}
	return "", "unknown"
}

// journal tells whether an ext4 file system on a device has a journal: "none", "yes" or
// "unknown". The kernel lists ext4 file systems and journals by device.
func journal(device string) string {
	name := filepath.Base(device)
	if _, err := os.Stat(filepath.Join("/proc/fs/ext4", name)); err != nil {
		return "unknown"
	}
	if found, _ := filepath.Glob(filepath.Join("/proc/fs/jbd2", name+"-*")); len(found) == 0 {
		return "none"
	}
	return "yes"
}
