//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// output runs a program of the installation and checks its exit status.
func (p *patient) output(status int, program string, args ...string) (stdout, stderr string) {
	p.t.Helper()
	var out, talk bytes.Buffer
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	cmd.Stdout, cmd.Stderr = &out, &talk
	_ = cmd.Run() // its status is looked at
	if got := cmd.ProcessState.ExitCode(); got != status {
		p.t.Fatalf("%s %v: exit status %d, want %d\n%s\n%s", program, args, got, status, &out, &talk)
	}
	return out.String(), talk.String()
}

// flipText changes a bit of a text in the only segment of a data folder.
func (p *patient) flipText(data, text string) {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(data, "dc_rdata", ".segments", "*.warc"))
	p.must(err)
	for _, name := range names {
		all, err := os.ReadFile(name)
		p.must(err)
		if at := bytes.Index(all, []byte(text)); at >= 0 {
			all[at] ^= 1
			p.must(os.WriteFile(name, all, 0o600))
			return
		}
	}
	p.t.Fatalf("no segment of %s has %q", data, text)
}

const damagedPage = "The text of page 3 is"

// readDamaged damages one page. Each reader of many pages skips it, names it, says so in its exit status and writes the others;
// a second run does the same or has nothing to do. Package archive/crawl has that of the archive, whose stores last one crawl.
func readDamaged(t *testing.T, base *patient) {
	t.Run("ose export", func(t *testing.T) {
		t.Parallel()
		p := base.copied(t)
		p.flipText(p.data(), damagedPage)
		for i := range 2 {
			out := fmt.Sprint(p.target, i)
			stdout, stderr := p.output(1, "ose", "export", "site", out, "--data", p.dir)
			if !strings.Contains(stderr, "left out "+p.root+"p3.html: ") || !strings.Contains(stdout, "1 left out") {
				t.Errorf("%q, %q", stdout, stderr)
			}
			p.output(0, "ose", "check", out)
		}
	})
	t.Run("search index", func(t *testing.T) {
		t.Parallel()
		p := base.copied(t)
		p.flipContent()
		p.must(os.RemoveAll(p.index))
		index := []string{"index", "--once", "--data", p.dir, "--dir", p.index}
		stdout, stderr := p.output(3, "hce-search", index...)
		if !strings.Contains(stderr, "1 damaged page") || !strings.Contains(stdout, "hce repair") {
			t.Errorf("%q, %q", stdout, stderr)
		}
		found, _ := p.output(0, "hce-search", "ask", "article", "--dir", p.index)
		if n := strings.Count(found, p.root); n != 7 {
			t.Errorf("%d pages are found: %s", n, found)
		}
		if stdout, _ := p.output(3, "hce-search", index...); !strings.Contains(stdout, "0 documents changed, 7 in the index") {
			t.Errorf("again: %q", stdout)
		}
		p.output(0, "hce", "repair", "--data", p.dir)
		p.output(0, "hce", "crawl", "site", "--data", p.dir, "--allow-network", "127.0.0.0/8")
		p.output(0, "hce-search", index...)
		found, _ = p.output(0, "hce-search", "ask", "article", "--dir", p.index)
		if n := strings.Count(found, p.root); n != 8 {
			t.Errorf("%d pages are found after the repair: %s", n, found)
		}
	})
}

// removeSite deletes a site and frees its raw pages at once. A kill at any moment leaves sound stores, and the command for the
// space alone ends the work.
func removeSite(t *testing.T, base *patient) {
	for i := range 4 {
		t.Run(fmt.Sprintf("killed after %d steps", i), func(t *testing.T) {
			t.Parallel()
			p := base.copied(t)
			ctx, cancel := context.WithCancel(t.Context())
			cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "hce"), "site", "rm", "site", "--yes", "--compact-raw", "--data", p.dir, "--json", "--show-request")
			talk, err := cmd.StderrPipe()
			p.must(err, cmd.Start())
			lines := bufio.NewScanner(talk)
			for n := 0; n < i && lines.Scan(); n++ { // a line for each request
			}
			if i > 0 {
				cancel()
			}
			for lines.Scan() {
			}
			_ = cmd.Wait() // it was killed, or not
			cancel()
			if stdout, _ := p.output(0, "hce", "site", "ls", "--data", p.dir); strings.Contains(stdout, "site ") {
				p.output(0, "hce", "site", "rm", "site", "--yes", "--data", p.dir)
			}
			stdout, _ := p.output(0, "hce", "site", "rm", "--compact-raw", "--data", p.dir, "--json")
			names, err := filepath.Glob(p.data("dc_rdata", ".segments", "*.warc*"))
			if err != nil || len(names) > 0 || !strings.Contains(stdout, `"left": 0`) {
				t.Errorf("%v %v: %s", names, err, stdout)
			}
			p.output(0, "db-task", "--check", "-c", filepath.Join(p.dir, "ini", "db-task.ini"))
		})
	}
}

// refuseLostDatabase: no program begins a new database where old contents are, not even a daemon.
func refuseLostDatabase(t *testing.T, base *patient) {
	for _, program := range []string{"dc-daemon", "dc-node", "db-task", "crawler-task", "processor-task"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			p := base.copied(t)
			p.must(os.Remove(p.merged()))
			_, stderr := p.output(1, program, "-c", filepath.Join(p.dir, "ini", program+".ini"))
			if !strings.Contains(stderr, "dc.db is missing, but "+p.data()) || !strings.Contains(stderr, "backup") {
				t.Errorf("%s says %q", program, stderr)
			}
			if _, err := os.Stat(p.data("dc.db")); err == nil {
				t.Error("there is a new database")
			}
		})
	}
}
