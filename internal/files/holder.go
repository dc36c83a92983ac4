package files

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Holder returns the process that has the exclusive lock of the file at path, as Linux tells it, and 0 if no process
// has it or it is not visible here.
func Holder(path string) (pid int) {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	own, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF; a process that waits has -> after the number.
		words := strings.Fields(lines.Text())
		if len(words) < 6 || words[1] != "FLOCK" || words[3] != "WRITE" || !strings.HasSuffix(words[5], fmt.Sprint(":", own.Ino)) {
			continue
		}
		if pid, err := strconv.Atoi(words[4]); err == nil {
			return pid
		}
	}
	return 0
}
