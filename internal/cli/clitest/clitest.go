// Package clitest runs the program of a test package as a child process: the test binary
// starts itself and calls main instead of the tests.
//
//	func TestMain(m *testing.M) { clitest.Main(m, main) }
//
//	stdout, stderr, status := clitest.Run(t, folder, "--help")
package clitest

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

// variable makes a child process run the program instead of the tests.
const variable = "CLITEST_RUNS_PROGRAM"

// Main runs program in a child of Run or Command, and the tests of m otherwise. It does
// not return.
func Main(m *testing.M, program func()) {
	RunIfChild(program)
	os.Exit(m.Run())
}

// RunIfChild runs program and ends the process if it is a child of Run or Command.
func RunIfChild(program func()) {
	if os.Getenv(variable) != "" {
		program()
		os.Exit(0)
	}
}

// Command returns the program, not yet started, with these arguments and working folder.
func Command(t testing.TB, folder string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Dir = folder
	c.Env = append(os.Environ(), variable+"=1", "GORACE=atexit_sleep_ms=0")
	return c
}

// Run runs the program to its end and returns its output and exit status.
func Run(t testing.TB, folder string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return Output(t, Command(t, folder, args...))
}

// Output runs c to its end and returns its output and exit status, -1 after a signal.
func Output(t testing.TB, c *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// Write creates a file in folder and returns its path.
func Write(t testing.TB, folder, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Pair generates a pair of keys and writes its files to folder.
func Pair(t testing.TB, folder, name string) curvekeys.Pair {
	t.Helper()
	p, err := curvekeys.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(folder, name, false); err != nil {
		t.Fatal(err)
	}
	return p
}

// Serve answers requests on a port of the loopback address until the test ends, and
// returns the port.
func Serve(t testing.TB, answer func(wire.Event) []wire.Event) (port string) {
	t.Helper()
	endpoint := managertest.Serve(t, managertest.Bus(t), "tcp://127.0.0.1:*", answer)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
