package daemonprogram

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// dcDaemon is the program as in cmd/dc-daemon.
var dcDaemon = Program{Text: command.Text{Name: "dc-daemon", Summary: "runs the managers"}, AdminPort: 5503, StatusPort: 5580, Cluster: true}

func TestMain(m *testing.M) { clitest.Main(m, func() { os.Exit(dcDaemon.Main(os.Args[1:])) }) }

// program is dcDaemon with these arguments and working folder.
func program(t *testing.T, folder string, args ...string) *exec.Cmd {
	t.Helper()
	return clitest.Command(t, folder, args...)
}

// started starts c and returns the lines of its log.
func started(t *testing.T, c *exec.Cmd) *bufio.Scanner {
	t.Helper()
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(stderr)
}

const ini = `[Application]
name = one
data_dir = data
log = stderr

[AdminInterfaceServer]
serverPort = 0
serverPrt = 1

[ClientInterfaceService]
serverPort = 0

[StatusServer]
StatusPort = 0
`

func write(t *testing.T, folder, text string) string {
	t.Helper()
	path := filepath.Join(folder, "dc-daemon.ini")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSignalEndsIt(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(fmt.Sprint(signal), func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, ini) // found in the current folder
			c := program(t, folder, "--name", "two")
			lines := started(t, c)
			var log strings.Builder
			for lines.Scan() {
				log.WriteString(lines.Text() + "\n")
				if strings.Contains(lines.Text(), "daemon runs") {
					if err := c.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := c.Wait(); err != nil {
				t.Errorf("%v\n%s", err, log.String())
			}
			for _, want := range []string{"serverPrt of section", "name=two", "manager=AdminInterfaceServer", "daemon stops"} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %q in\n%s", want, log.String())
				}
			}
		})
	}
}

// A second signal ends the daemon and its tasks at once.
func TestSecondSignal(t *testing.T) {
	folder := t.TempDir()
	pidFile := filepath.Join(folder, "pid")
	// The program never answers and ignores SIGTERM and the end of its input.
	write(t, folder, ini+`
[SitesManager]
DRCEDBAppName = sh -c "trap '' TERM; echo $$ > `+pidFile+`; while :; do read x; done"
`)
	c := program(t, folder)
	lines := started(t, c)
	endpoint := regexp.MustCompile(`ClientInterfaceService:(tcp://[0-9.:]+)`)
	for lines.Scan() {
		if found := endpoint.FindStringSubmatch(lines.Text()); found != nil {
			caller := managertest.Call(t, managertest.Bus(t), found[1])
			caller.Send(managertest.Event(t, wire.ClassClient, int(wire.SiteStatus), nil))
			break
		}
	}
	pid := 0
	testwait.Until(t, "the task writes its pid", func() bool {
		text, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid != 0
	})
	_ = c.Process.Signal(syscall.SIGTERM)
	for lines.Scan() && !strings.Contains(lines.Text(), "daemon stops") {
	}
	// Signals are repeated, because one that arrives together with the first is merged with it.
	ended := make(chan struct{})
	go func() {
		for lines.Scan() {
		}
		_ = c.Wait()
		close(ended)
	}()
	for over := false; !over; {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			over = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", c.ProcessState)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	testwait.Until(t, "the task ends", func() bool { return syscall.Kill(pid, 0) != nil })
}

func TestExitStatus(t *testing.T) {
	folder := t.TempDir()
	bad := write(t, folder, strings.ReplaceAll(ini, "serverPort = 0", "serverPort = many"))
	cases := []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"help", []string{"--help"}, 0, "Usage"},
		{"short help", []string{"-h"}, 0, "Usage"},
		{"unknown option", []string{"--what"}, 1, "unknown"},
		{"no file", []string{"-c", "none.ini"}, 1, "none.ini"},
		{"wrong value", []string{"--config", bad}, 1, "many"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := program(t, t.TempDir(), tc.args...)
			out, err := c.CombinedOutput()
			if c.ProcessState == nil || c.ProcessState.ExitCode() != tc.status || !strings.Contains(string(out), tc.says) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
