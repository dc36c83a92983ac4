package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/daemon/manager/managertest"
)

// eventually waits until a file holds a text.
func eventually(t *testing.T, path, text string) {
	t.Helper()
	last := ""
	for end := time.Now().Add(managertest.Patience); !strings.Contains(last, text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in %s:\n%s", text, path, last)
		}
		b, _ := os.ReadFile(path)
		last = string(b)
	}
}

// SIGHUP opens the log anew, and does not end the daemon.
func TestHangup(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, strings.Replace(ini, "log = stderr", "log = log/d.log\nlog_format = json", 1))
	c := program(t, folder)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill() }()
	log := filepath.Join(folder, "data", "log", "d.log")
	eventually(t, log, `"msg":"daemon runs"`)
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, log, "log reopened")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	eventually(t, log, `"msg":"daemon stops"`)
	if b, _ := os.ReadFile(log + ".1"); strings.Contains(string(b), "log reopened") || strings.Contains(string(b), "daemon stops") {
		t.Errorf("the old file goes on:\n%s", b)
	}
}

// The service manager is told: it runs, it lives, it stops. STOPPING comes before
// the managers stop.
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
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill() }()
	var log []string
	read := make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log = append(log, lines.Text())
		}
		close(read)
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
		t.Error("it stops of itself")
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	for said() != "STOPPING=1" {
	}
	<-read
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, strings.Join(log, "\n"))
	}
}
