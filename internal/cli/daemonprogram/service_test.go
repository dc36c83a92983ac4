package daemonprogram

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testwait"
)

// awaitText waits until a file contains a text.
func awaitText(t *testing.T, path, text string) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("%s has %q", path, text), func() bool {
		b, _ := os.ReadFile(path)
		return strings.Contains(string(b), text)
	})
}

// SIGHUP reopens the log and does not end the daemon.
func TestHangup(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, strings.Replace(ini, "log = stderr", "log = log/d.log\nlog_format = json", 1))
	c := program(t, folder)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill() }()
	log := filepath.Join(folder, "data", "log", "d.log")
	awaitText(t, log, `"msg":"daemon runs"`)
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	awaitText(t, log, "log reopened")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	awaitText(t, log, `"msg":"daemon stops"`)
	if b, _ := os.ReadFile(log + ".1"); strings.Contains(string(b), "log reopened") || strings.Contains(string(b), "daemon stops") {
		t.Errorf("the old file was still written:\n%s", b)
	}
}

// The service manager gets READY, WATCHDOG and STOPPING. STOPPING comes before the managers
// stop.
func TestServiceManager(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, ini)
	socket := filepath.Join(folder, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := program(t, folder)
	c.Env = append(c.Env, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=2000000")
	lines := started(t, c)
	defer func() { _ = c.Process.Kill() }()
	var log []string
	logged := make(chan struct{})
	go func() {
		for lines.Scan() {
			log = append(log, lines.Text())
		}
		close(logged)
	}()
	said := func() string {
		t.Helper()
		_ = l.SetReadDeadline(time.Now().Add(managertest.Patience))
		b := make([]byte, 1024)
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	seen := map[string]bool{}
	for !seen["READY=1"] || !seen["WATCHDOG=1"] {
		seen[said()] = true
	}
	if seen["STOPPING=1"] {
		t.Error("STOPPING before the signal")
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	for said() != "STOPPING=1" {
	}
	<-logged
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, strings.Join(log, "\n"))
	}
}
