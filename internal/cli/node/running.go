package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/files"
)

// running is the contents of the file that Start writes and Stop removes.
type running struct {
	PID       int `json:"pid"`
	AdminPort int `json:"adminPort"` // of the loopback address
}

func (n *Node) runningFile() string { return filepath.Join(n.Dir, "daemon.json") }

func (n *Node) writeRunning(r running) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return files.Write(n.runningFile(), append(text, '\n'), 0o600)
}

// Running returns the admin port and the keys of the daemon that Start has started in the folder, here or
// in another process. found is false if none runs. After a kill of hce the file stays: its process
// has ended then.
func (n *Node) Running() (daemon client.Installation, found bool, err error) {
	var r running
	text, err := os.ReadFile(n.runningFile())
	if err != nil || json.Unmarshal(text, &r) != nil || r.PID <= 0 || syscall.Kill(r.PID, 0) != nil {
		return daemon, false, nil
	}
	daemon, err = client.ReadInstallation(filepath.Join(n.IniDir(), "dc-admin.ini"))
	if err != nil {
		return daemon, false, fmt.Errorf("read the keys of dc-daemon in %s: %w", n.Dir, err)
	}
	daemon.Admin.Host, daemon.Admin.Port = "127.0.0.1", r.AdminPort
	return daemon, true, nil
}
