package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"hce/dc/internal/childprocess"
)

// mariadbNames are the names of the server program.
var mariadbNames = []string{"mariadbd", "mysqld"}

// mariadb is a private server on a new data folder.
type mariadb struct {
	pid  int
	dsn  string // for db_dsn of db-task.ini
	stop func() // kills the server; its data are thrown away
}

// startMariaDB starts a server with the default settings of MariaDB, which sync each commit.
// It reads no configuration of the system. dir is removed by the caller.
func startMariaDB(ctx context.Context, dir string) (mariadb, error) {
	common := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + dir, "--skip-name-resolve"}
	if os.Getuid() == 0 {
		common = append(common, "--user=root")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return mariadb{}, fmt.Errorf("start MariaDB: %w", err)
	}
	install, err := findProgram("mariadb-install-db", "mysql_install_db")
	if err != nil {
		return mariadb{}, fmt.Errorf("start MariaDB: %w", err)
	}
	args := append(common, "--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := exec.CommandContext(ctx, install, args...).CombinedOutput(); err != nil {
		return mariadb{}, fmt.Errorf("start MariaDB: %s: %w: %s", install, err, lastLine(out))
	}
	program, err := findProgram(mariadbNames...)
	if err != nil {
		return mariadb{}, fmt.Errorf("start MariaDB: %w", err)
	}
	socket, log := filepath.Join(dir, "s"), filepath.Join(dir, "log")
	cmd := exec.Command(program, append(common, "--socket="+socket, "--skip-networking", "--log-error="+log,
		"--character-set-server=utf8mb4")...)
	ended, err := childprocess.Start(cmd)
	if err != nil {
		return mariadb{}, fmt.Errorf("start MariaDB: %w", err)
	}
	s := mariadb{
		pid: cmd.Process.Pid,
		dsn: "root@unix(" + socket + ")/",
		stop: func() {
			_ = cmd.Process.Kill() // an error says that it has ended
			<-ended
		},
	}
	if err := awaitConnections(ctx, "unix", socket, ended); err != nil {
		_ = cmd.Process.Kill()
		text, _ := os.ReadFile(log)
		return mariadb{}, fmt.Errorf("start MariaDB: %w: %s", err, lastLine(text))
	}
	return s, nil
}
