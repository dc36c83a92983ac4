//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hce/dc/internal/testkit/rig"
)

// count is a number of system calls, or of bytes, of all processes for one page.
type count struct {
	what  string
	limit float64 // per page; measured values are about three quarters of it
	calls []string
	// of limits the calls to those on a file with this text in its description; bytes
	// sums up their results.
	of    string
	bytes bool
}

// A page costs a bounded number of syncs, opened files, renames and bytes between
// processes. The numbers do not depend on the speed of the machine.
func TestCosts(t *testing.T) {
	t.Parallel()
	const pages = 400
	counts := []count{
		{what: "syncs", limit: 0.6, calls: []string{"fsync", "fdatasync", "sync_file_range", "syncfs"}},
		{what: "opened files", limit: 3, calls: []string{"openat", "openat2", "open"}},
		{what: "renamed and removed files", limit: 0.4, calls: []string{"renameat", "renameat2", "rename", "unlinkat", "unlink"}},
		{what: "bytes between processes", limit: 6000, calls: []string{"write"}, of: "<pipe:", bytes: true},
		{what: "messages between processes", limit: 3, calls: []string{"write"}, of: "<pipe:"},
	}
	// Two messages and their bytes are the page and its result, for a worker of processor-task.
	traced, trace := tracedPrograms(t, counts)
	data := t.TempDir()
	r, err := rig.Start(t.Context(), rig.Options{Bin: traced, Ini: ini, Data: data, AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	w := newWitness(t, tree(pages))
	begin, err := os.Stat(trace)
	if err != nil {
		t.Fatal(err)
	}
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	finish(t, r, id)
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		n := c.in(t, trace, begin.Size()) / pages
		t.Logf("%s of a page: %.2f (limit %.2f)", c.what, n, c.limit)
		if n > c.limit {
			t.Errorf("%s of a page: %.2f; the limit is %.2f", c.what, n, c.limit)
		}
	}
}

// tracedPrograms returns a folder of programs in which dc-daemon runs below strace, and the
// file to which strace writes the calls of all its processes.
func tracedPrograms(t *testing.T, counts []count) (folder, trace string) {
	t.Helper()
	folder, trace = t.TempDir(), filepath.Join(t.TempDir(), "trace")
	programs, err := filepath.Glob(bin + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		full, err := filepath.Abs(name)
		if err == nil && filepath.Base(name) != "dc-daemon" {
			err = os.Symlink(full, filepath.Join(folder, filepath.Base(name)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	full, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, c := range counts {
		calls = append(calls, c.calls...)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec strace -f -y -s 0 --seccomp-bpf -e signal=none -e trace=?%s -o '%s' '%s/dc-daemon' \"$@\"\n",
		strings.Join(calls, ",?"), trace, full)
	if err := os.WriteFile(filepath.Join(folder, "dc-daemon"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder, trace
}

// callLine matches a finished call: name, arguments, result.
var callLine = regexp.MustCompile(`^\d+ +(?:<\.\.\. )?(\w+)(?:\((.*)| resumed>.*) = (\d+)`)

// in counts the successful calls that strace has written to the file trace behind offset.
func (c count) in(t *testing.T, trace string, offset int64) (sum float64) {
	t.Helper()
	sum, _ = c.find(t, trace, offset)
	return sum
}

// find is in, with the lines of the calls.
func (c count) find(t *testing.T, trace string, offset int64) (sum float64, found []string) {
	t.Helper()
	f, err := os.Open(trace)
	if err == nil {
		defer f.Close()
		_, err = f.Seek(offset, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	unfinished := map[string]string{} // arguments of a call by thread
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		thread, rest, _ := strings.Cut(line, " ")
		if strings.HasSuffix(line, "<unfinished ...>") {
			unfinished[thread] = rest
			continue
		}
		m := callLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		arguments := m[2] + unfinished[thread]
		delete(unfinished, thread)
		if !slices.Contains(c.calls, m[1]) || !strings.Contains(arguments, c.of) {
			continue
		}
		found = append(found, m[1]+"("+arguments)
		if n, _ := strconv.ParseFloat(m[3], 64); c.bytes {
			sum += n
		} else {
			sum++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return sum, found
}
