package statefile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The test binary runs as a counting process if this variable is set.
const childEnv = "STATEFILE_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		countForEver(path)
	}
	os.Exit(m.Run())
}

// countForEver adds 1 and reports each change, until it is killed.
func countForEver(path string) {
	for {
		var c counter
		err := Update(context.Background(), path, &c, func() error { c.N++; return nil })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.WriteString("saved\n")
	}
}

// Every change that a killed process has reported is stored. At most one more change per
// process is stored, which it had no time to report.
func TestKilledProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	const processes, rounds = 4, 6
	reported := 0
	for round := range rounds {
		var running []*exec.Cmd
		var outs []*bufio.Scanner
		for range processes {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+path)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running, outs = append(running, cmd), append(outs, bufio.NewScanner(out))
		}
		for i := range running {
			for range 5 + 7*round + i {
				if !outs[i].Scan() {
					t.Fatal("a process ended early")
				}
				reported++
			}
			if err := running[i].Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for outs[i].Scan() {
				reported++
			}
			_ = running[i].Wait()
		}
		text, err := os.ReadFile(path)
		if err != nil || !json.Valid(text) {
			t.Fatalf("round %d: %q, %v", round, text, err)
		}
	}
	var c counter
	if err := Read(path, &c); err != nil {
		t.Fatal(err)
	}
	if c.N < reported || c.N > reported+processes*rounds {
		t.Errorf("counted %d, reported %d", c.N, reported)
	}
	if c := add(t, Files{}, path, 0); c.N == 0 {
		t.Error("nothing counted")
	}
}
