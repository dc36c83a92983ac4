package proxypool

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The test binary runs as a crawling process if this variable is set.
const childEnv = "PROXIES_TEST_CHILD"

const childSpec = `{"file_path":"x.json","proxies":{"a:1":{},"b:1":{}}}`

func TestMain(m *testing.M) {
	if base := os.Getenv(childEnv); base != "" {
		if err := useForEver(base); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// useForEver picks proxies, each with a fault, and reports them, until it is killed.
func useForEver(base string) error {
	s, err := Parse(childSpec)
	if err != nil {
		return err
	}
	p, err := Open(s, "s", base, nil, Options{})
	if err != nil {
		return err
	}
	for {
		proxy, err := p.Pick(context.Background(), "http://x/", nil)
		if err != nil {
			return err
		}
		if _, err := p.Fault(context.Background(), proxy); err != nil {
			return err
		}
		os.Stdout.WriteString("counted\n")
	}
}

// Every use that a killed process has reported is in the index file, and the uses stay
// spread over the proxies.
func TestKilledProcesses(t *testing.T) {
	base := t.TempDir()
	const processes, rounds = 3, 4
	reported := 0
	for round := range rounds {
		var running []*exec.Cmd
		var outs []*bufio.Scanner
		for range processes {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+base)
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
	}
	path := filepath.Join(base, "x.json")
	a, b := read(t, path, "a:1"), read(t, path, "b:1")
	freq := int(a["freq"].(float64) + b["freq"].(float64))
	faults := int(a["faults"].(float64) + b["faults"].(float64))
	if most := reported + processes*rounds; freq < reported || freq > most || faults < reported || faults > most {
		t.Errorf("reported %d, uses %d, faults %d", reported, freq, faults)
	}
	if d := a["freq"].(float64) - b["freq"].(float64); d < -1 || d > 1 {
		t.Errorf("uses %v and %v", a["freq"], b["freq"])
	}
}
