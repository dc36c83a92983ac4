// Package killtest tests that killed processes lose nothing that they have reported.
//
//	func TestMain(m *testing.M) { killtest.Main(m, work) }
//
//	func TestKilledProcesses(t *testing.T) {
//		killtest.Run(t, 3, func(i int) string { return dir }, func(i int, reports []string) { ... })
//	}
//
// The processes are copies of the test binary.
package killtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// argument is the environment variable with the argument of a working process.
const argument = "DC_KILLTEST_ARGUMENT"

// rounds is how often Run starts its processes.
const rounds = 6

// Main runs the tests, or work in a process that Run has started. work prints one line
// on standard output for each stored change and never returns without an error.
func Main(m *testing.M, work func(arg string) error) {
	if arg, found := os.LookupEnv(argument); found {
		fmt.Fprintln(os.Stderr, work(arg))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Run starts processes with the arguments arg(0), arg(1), ... in several rounds. It kills
// each one after some reports, and then calls killed with all its reports. It returns the
// number of killed processes.
func Run(t *testing.T, processes int, arg func(i int) string, killed func(i int, reports []string)) int {
	t.Helper()
	for round := range rounds {
		running := make([]*exec.Cmd, processes)
		outs := make([]*bufio.Scanner, processes)
		for i := range processes {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), argument+"="+arg(i))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running[i], outs[i] = cmd, bufio.NewScanner(out)
		}
		for i, cmd := range running {
			var reports []string
			for range 5 + 7*round + i {
				if !outs[i].Scan() {
					t.Fatal("a process ended early")
				}
				reports = append(reports, outs[i].Text())
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for outs[i].Scan() {
				reports = append(reports, outs[i].Text())
			}
			_ = cmd.Wait()
			killed(i, reports)
		}
	}
	return processes * rounds
}
