package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain lets a test start this program as a process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_RUNS_MAIN") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestImportMovedToOtherProgram(t *testing.T) {
	for _, args := range [][]string{
		{"--import-from", "reader@127.0.0.1"}, {"--import-from=reader@127.0.0.1"},
		{"-c", "missing.ini", "-import-from", "reader@127.0.0.1", "--import-log"},
	} {
		c := exec.CommandContext(t.Context(), os.Args[0], args...)
		c.Env = append(os.Environ(), "TEST_RUNS_MAIN=1")
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		var exit *exec.ExitError
		if err := c.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%v: %v, want exit status 1", args, err)
		}
		if out.Len() > 0 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "use dc-import") {
			t.Errorf("%v: stdout %q, stderr %q", args, &out, &errs)
		}
	}
}
