package mariadbtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"hce/dc/internal/childprocess"
)

// process is a running mariadbd.
type process struct {
	pid  int
	done chan struct{} // closed after the process has ended
}

func launchProcess(cmd *exec.Cmd) (*process, error) {
	ended, err := childprocess.Start(cmd)
	if err != nil {
		return nil, err
	}
	p := &process{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		<-ended // the log of the server holds the reason
		close(p.done)
	}()
	return p, nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// sendSignal sends nothing to an ended process: its pid may belong to another process.
func (p *process) sendSignal(s syscall.Signal) {
	if !p.hasEnded() {
		syscall.Kill(p.pid, s)
	}
}

// isStopped reports whether every thread of the process has stopped. Each thread handles
// SIGSTOP only when it next runs.
func (p *process) isStopped() bool {
	stats, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.pid), "task", "*", "stat"))
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err == nil && !strings.Contains(string(stat), ") T ") && !p.hasEnded() {
			return false
		}
	}
	return true
}

func (p *process) kill() {
	p.sendSignal(syscall.SIGKILL)
	<-p.done
}

// keeper is a shell that removes the folder of a server after this process has ended. The
// end of the process closes the standard input of the shell.
type keeper struct {
	cmd  *exec.Cmd
	hold io.WriteCloser
}

const keeperScript = `trap '' INT TERM HUP; cat >/dev/null; kill -9 "$(cat "$1/pid" 2>/dev/null)" 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" 2>/dev/null && exit; sleep 0.1; done`

func startKeeper(folder string) (*keeper, error) {
	k := &keeper{cmd: exec.Command("/bin/sh", "-c", keeperScript, "sh", folder)}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if k.hold, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	return k, nil
}

// removeFolder makes the keeper remove the folder and waits for it.
func (k *keeper) removeFolder() {
	k.hold.Close()
	k.cmd.Wait()
}

// findProgram finds a program of MariaDB. Servers may be in folders outside PATH.
func findProgram(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, folder := range []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin"} {
			if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("the program %s is missing: run scripts/setup.sh test", names[0])
}

// installServer creates the system tables of a new server. It takes half a second.
func installServer(folder string) error {
	path, err := findProgram("mariadb-install-db", "mysql_install_db")
	if err != nil {
		return err
	}
	args := append([]string{"--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--tmpdir=" + folder}, commonOptions(folder)...)
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", path, err, out)
	}
	return nil
}

// commonOptions returns the options of both the installation and the server.
func commonOptions(folder string) []string {
	options := []string{
		"--datadir=" + filepath.Join(folder, "data"),
		"--innodb-log-file-size=16M",
		"--innodb-use-native-aio=0", // containers often forbid io_uring
	}
	if os.Getuid() == 0 {
		options = append(options, "--user=root")
	}
	return options
}
