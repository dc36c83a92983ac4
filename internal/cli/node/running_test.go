package node

import (
	"hce/dc/internal/cli/datafolder"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Another process finds the daemon of a folder as long as its process lives.
func TestRunning(t *testing.T) {
	n := &Node{Folder: &datafolder.Folder{Dir: t.TempDir()}}
	if err := os.Mkdir(n.IniDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.IniDir(), "dc-admin.ini"), []byte("[dtma]\nclientPort = 5503\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pid   int // 0: no file
		found bool
	}{
		"no file":       {0, false},
		"it runs":       {os.Getpid(), true},
		"it was killed": {ended.Process.Pid, false},
		"not a process": {-1, false},
	} {
		_ = os.Remove(n.runningFile()) // fails without a file
		if c.pid != 0 {
			if err := n.writeRunning(running{PID: c.pid, AdminPort: 12345}); err != nil {
				t.Fatal(err)
			}
		}
		daemon, found, err := n.Running()
		if err != nil || found != c.found || found && (daemon.Admin.Port != 12345 || daemon.Admin.Host != "127.0.0.1") {
			t.Errorf("%s: %+v, %t, %v", name, daemon, found, err)
		}
	}
}
