package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/daemon/manager/managertest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// The shipped file has no unknown keys, and only values that --check-config shows as defaults.
func TestShippedIni(t *testing.T) {
	path, err := filepath.Abs("../../ini/dc-node.ini")
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, _ := clitest.Run(t, t.TempDir(), "--check-config", "-c", path)
	for line := range strings.SplitSeq(stderr, "\n") {
		if line != "" && !strings.Contains(line, "no such file") && line != "dc-node: the configuration is invalid" { // programs that are not built
			t.Error(line)
		}
	}
	empty := clitest.Write(t, t.TempDir(), "dc-node.ini", "[Application]\n")
	defaults, _, _ := clitest.Run(t, t.TempDir(), "--check-config", "-c", empty)
	values := func(text string) (list []string) {
		for line := range strings.SplitSeq(text, "\n") {
			own := slices.ContainsFunc([]string{";", "data_dir", "spool_dir", "slots_", "DRCE", "serverPort"}, func(s string) bool { return strings.HasPrefix(line, s) })
			if !own {
				list = append(list, line)
			}
		}
		slices.Sort(list)
		return list
	}
	if got, want := values(stdout), values(defaults); !slices.Equal(got, want) {
		t.Errorf("shipped\n%s\ndefaults\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const ini = `[Application]
data_dir = data
[SitesManager]
DRCEDBAppName = true
[BatchTasksManager]
DRCEDBAppName = true
DRCECrawlerAppName = true
[BatchTasksManagerProcess]
DRCEProcessorAppName = true
`

// Two nodes run on one machine, each on a port that the system chooses. dc-admin finds the port of
// each through its folder of keys. The managers are those of a node.
func TestTwoNodes(t *testing.T) {
	first, second := start(t), start(t)
	checkManagers(t, first.Dir)
	checkManagers(t, second.Dir)
	stop(t, first)
	stop(t, second)
}

// start starts a node in a new folder and waits until it runs.
func start(t *testing.T) *exec.Cmd {
	t.Helper()
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-node.ini", ini)
	admin := clitest.Write(t, folder, "dc-admin.ini", "[dtma]\nclientPort = 0\nkeys = data/keys\n")
	if _, err := client.ReadInstallation(admin); err == nil || !strings.Contains(err.Error(), "needs a running daemon") {
		t.Errorf("before the start: %v", err)
	}
	c := clitest.Command(t, folder)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines, runs := bufio.NewScanner(stderr), false
	for !runs && lines.Scan() {
		runs = strings.Contains(lines.Text(), "daemon runs")
	}
	go func() { // ends with the node
		for lines.Scan() {
		}
	}()
	return c
}

func stop(t *testing.T, c *exec.Cmd) {
	t.Helper()
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "data", "keys", "endpoint")); err == nil {
		t.Error("the file with the port stays after the end")
	}
}

func checkManagers(t *testing.T, folder string) {
	t.Helper()
	i, err := client.ReadInstallation(filepath.Join(folder, "dc-admin.ini"))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := i.Admin.Stats(t.Context(), managertest.Bus(t), []string{"AdminInterfaceServer"}, nil)
	if err != nil || len(stats) != 1 {
		t.Fatalf("%v %v", stats, err)
	}
	want := []any{"BatchTasksManager", "BatchTasksManagerProcess", "SitesManager"}
	if got, _ := stats[0].Fields["clients"].([]any); !slices.Equal(got, want) {
		t.Errorf("managers %v, want %v", got, want)
	}
}
