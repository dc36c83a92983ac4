package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// describeMachine describes what the numbers depend on. It warns about what makes them worthless.
// Facts that the system hides are left out.
func describeMachine(data string) []string {
	facts := []string{fmt.Sprintf("machine: %d cores%s, %s", runtime.NumCPU(), readProcessorName(), runtime.Version())}
	if load, ok := readLoadAverage(); ok {
		fact := fmt.Sprintf("load at the start: %.2f", load)
		if load > 0.5 {
			fact += "; warning: other programs use the machine, do not compare these numbers with others"
		}
		facts = append(facts, fact)
	}
	device, kind := fileSystem(data)
	fact := "file system of the data: " + kind
	switch {
	case kind == "ext4" && findJournalState(device) == "none":
		fact += "; warning: it has no journal, and crawlers that create many files may be several times slower there"
	case kind == "ext4" && findJournalState(device) == "unknown":
		fact += "; whether it has a journal is not known"
	case kind == "tmpfs":
		fact += "; warning: it is in memory, and syncs cost nothing"
	}
	return append(facts, fact)
}

// readProcessorName is " of" and the name of the processor, or "".
func readProcessorName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "model name\t: ")
	name, _, found := strings.Cut(rest, "\n")
	if !found {
		return ""
	}
	return " of " + name
}

// readLoadAverage is the load average of the last minute.
func readLoadAverage() (float64, bool) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	value, err := strconv.ParseFloat(first, 64)
	return value, err == nil
}

// fileSystem finds the device and the type of the file system of a folder.
func fileSystem(dir string) (device, kind string) {
	out, err := exec.Command("findmnt", "-no", "SOURCE,FSTYPE", "-T", dir).Output()
	if fields := strings.Fields(string(out)); err == nil && len(fields) == 2 {
		return fields[0], fields[1]
	}
	return "", "unknown"
}

// findJournalState tells whether an ext4 file system on a device has a journal: "none", "yes" or
// "unknown". The kernel lists ext4 file systems and journals by device.
func findJournalState(device string) string {
	name := filepath.Base(device)
	if _, err := os.Stat(filepath.Join("/proc/fs/ext4", name)); err != nil {
		return "unknown"
	}
	if found, _ := filepath.Glob(filepath.Join("/proc/fs/jbd2", name+"-*")); len(found) == 0 {
		return "none"
	}
	return "yes"
}
