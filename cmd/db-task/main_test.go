package main

import (
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

func TestImportMovedToOtherProgram(t *testing.T) {
	for _, args := range [][]string{
		{"--import-from", "reader@127.0.0.1"}, {"--import-from=reader@127.0.0.1"},
		{"-c", "missing.ini", "-import-from", "reader@127.0.0.1", "--import-log"},
	} {
		stdout, stderr, status := clitest.Run(t, "", args...)
		if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "use dc-import") {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
}
