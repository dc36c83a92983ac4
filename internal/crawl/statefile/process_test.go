package statefile

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hce/dc/internal/crawl/statefile/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m, countForEver) }

// countForEver adds 1 to the state at path and reports each change.
func countForEver(path string) error {
	for {
		var c counter
		if err := (Files{}).Update(context.Background(), path, &c, func() error { c.N++; return nil }); err != nil {
			return err
		}
		os.Stdout.WriteString("saved\n")
	}
}

// Every change that a killed process has reported is stored. At most one more change per
// process is stored, which it had no time to report.
func TestKilledProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	reported := 0
	processes := killtest.Run(t, 4, func(int) string { return path }, func(_ int, reports []string) {
		reported += len(reports)
		text, err := os.ReadFile(path)
		if err != nil || !json.Valid(text) {
			t.Fatalf("%q, %v", text, err)
		}
	})
	var c counter
	if err := (Files{}).Read(path, &c); err != nil {
		t.Fatal(err)
	}
	if c.N < reported || c.N > reported+processes {
		t.Errorf("stored %d, reported %d", c.N, reported)
	}
	if c := add(t, Files{}, path, 0); c.N == 0 {
		t.Error("nothing is stored")
	}
}
