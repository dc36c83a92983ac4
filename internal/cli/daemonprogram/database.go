package daemonprogram

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/daemon"
)

// databaseLimit bounds the look at the database. It opens nothing, so only a machine in trouble needs longer.
const databaseLimit = 30 * time.Second

// checkDatabase asks db-task whether the database of old contents is lost (option --check-database). A daemon that started
// then would crawl nothing, and say so at each request only. Other failures of db-task are those of its tasks. A head
// of a cluster has no stores.
func checkDatabase(ctx context.Context, cfg daemon.Config) error {
	if cfg.Cluster != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, databaseLimit)
	defer cancel()
	program := cfg.Sites.DBTask
	cmd := exec.CommandContext(ctx, program.Program, append(slices.Clone(program.Args), "--check-database")...)
	cmd.Dir, cmd.Env = program.Dir, append(os.Environ(), program.Env...)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := childprocess.Run(cmd)
	var exit *exec.ExitError
	if lost := bytes.TrimSpace(out.Bytes()); errors.As(err, &exit) && exit.ExitCode() == 1 && len(lost) > 0 {
		return errors.New(string(lost))
	}
	return nil
}
