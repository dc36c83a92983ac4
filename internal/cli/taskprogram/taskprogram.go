// Package taskprogram is the start of every task program: command line, ini file, log
// and signals, then the loop of package task.
//
//	os.Exit(taskprogram.Run(taskprogram.Program{Text: text, Open: open}))
package taskprogram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/load"
	"hce/dc/internal/files"
	"hce/dc/internal/task"
)

// Program is one task program.
type Program struct {
	command.Text
	Ini     string // name of the ini file without .ini; empty means Name
	Batches bool   // accepts --maxtime
	// Memory reads the soft memory limit of the process from the ini file (bytes); nil
	// means 512 MiB. It is at most half of the machine's memory, or what GOMEMLIMIT says. Open checks the values later.
	Memory func(f *config.File) int64
	// Open reads the ini file, checks it with Checked and returns the job and a function
	// that closes it. maxTime is --maxtime, 0 if not given. An error is a critical failure.
	Open        func(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (job task.Job, close func(), err error)
	ErrorAnswer func(request json.RawMessage, err error) any
	Machine     func(error) bool       // see task.Options
	Options     func(*command.Command) // declares further options of the loop; may be nil
	Commands    []Command
}

// Command is work that a program does instead of answering requests, if its option is
// given.
type Command struct {
	Option, Value, Help string                 // --Option VALUE; without a value if Value is ""
	More                func(*command.Command) // declares further options of the command; may be nil
	// Run writes its result, if any, to stdout. An error is a critical failure, except
	// Status. After a signal the exit status is that of an interruption.
	Run func(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, value string) error
}

// Status as the error of a command is the exit status of the program, without a message.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// A task creates many short-lived objects. Less frequent garbage collection saves time
// and costs memory, up to the limit.
const gcPercent = 200

// MemoryLimit is the soft memory limit of a task program that sets no other (bytes).
const MemoryLimit = 512 << 20

// arguments are the values of a program's options.
type arguments struct {
	config, maxTime string
	checkOnly       bool
	commands        []string // in the order of Program.Commands
}

// Run reads the arguments of the process, runs p and returns the exit status.
func Run(p Program) int {
	debug.SetGCPercent(gcPercent)
	p.Ini = cmp.Or(p.Ini, p.Name)
	var c *command.Command
	args := arguments{commands: make([]string, len(p.Commands))}
	c = command.New(p.Text, func() int {
		status, err := p.runWithArguments(c, args)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", p.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
			return task.ExitCritical
		}
		return status
	})
	c.Config(&args.config, p.Ini)
	c.Flag(&args.checkOnly, "check-config", "", "print the effective configuration and its errors, then exit; open nothing")
	if p.Batches {
		c.Text(&args.maxTime, "maxtime", "m", "TIME", "time limit for a batch that has none, 1s to 24h; a number without a unit counts seconds; overrides max_execution_time")
	}
	if p.Options != nil {
		p.Options(c)
	}
	for i, work := range p.Commands {
		if work.Value == "" {
			c.Flag(new(bool), work.Option, "", work.Help)
		} else {
			c.Text(&args.commands[i], work.Option, "", work.Value, work.Help)
		}
		if work.More != nil {
			work.More(c)
		}
	}
	return c.Main(os.Args[1:])
}

// runWithArguments is the program after its arguments are read. It returns the exit status, or the
// error that prevents the work.
func (p Program) runWithArguments(c *command.Command, args arguments) (status int, err error) {
	var maxTime time.Duration
	if args.maxTime != "" {
		maxTime, err = command.Time{Option: "--maxtime", Least: time.Second, Most: 24 * time.Hour, Bare: time.Second}.Parse(args.maxTime)
		if err != nil {
			return 0, err
		}
	}
	f, err := config.Open(p.Ini, args.config)
	if err != nil {
		return 0, err
	}
	limit := int64(MemoryLimit)
	if p.Memory != nil {
		limit = p.Memory(f)
	}
	load.New(load.Config{}).SetMemoryLimit(limit)
	app := f.Application(p.Name, "log/"+p.Name+".log")
	if args.checkOnly {
		return p.checkConfig(context.Background(), f, app, maxTime), nil
	}
	log, _, out, err := app.Log.Open(os.Stderr)
	if err != nil {
		return 0, files.ExplainFull(err, app.DataDir)
	}
	defer out.Close()
	log = log.With("program", p.Name, "pid", os.Getpid())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for i, work := range p.Commands {
		if c.Given(work.Option) {
			err := work.Run(ctx, f, app, log, args.commands[i])
			var status Status
			switch {
			case errors.As(err, &status):
				return int(status), nil
			case err != nil && ctx.Err() != nil:
				fmt.Fprintf(os.Stderr, "%s: interrupted; the same command continues\n", p.Name)
				return command.ExitInterrupted, nil
			}
			return task.ExitTrusted, files.ExplainFull(err, app.DataDir)
		}
	}
	job, closeJob, err := p.Open(ctx, f, app, log, maxTime)
	if err = files.ExplainFull(err, app.DataDir); err != nil {
		if app.Log.File != "" { // without a log file, Run prints the error to stderr
			log.Error("start failed", "error", err)
		}
		return 0, err
	}
	defer closeJob()
	return task.Main(ctx, job, task.Options{Name: p.Name, ErrorAnswer: p.ErrorAnswer, Machine: p.Machine, Log: log}), nil
}

// Checked returns the first error in the values of f and others, and logs the unknown keys
// of f. Open calls it after it has read everything and before it opens anything: with
// --check-config it returns an error that ends the start.
func Checked(f *config.File, log *slog.Logger, others ...*config.File) error {
	if f == checkedFile {
		return errCheckOnly
	}
	if err := f.Err(); err != nil {
		return err
	}
	f.LogUnknown(log)
	for _, other := range others {
		if err := other.Err(); err != nil {
			return err
		}
	}
	return nil
}

// DBTaskFile loads the ini file of the storage that section s names (db-task_ini).
func DBTaskFile(f *config.File, s *config.Section) (*config.File, error) {
	file, err := config.Load(s.Path("db-task_ini", "db-task.ini"))
	if err != nil {
		return nil, fmt.Errorf("db-task_ini: %w", err)
	}
	if checkedFile != nil {
		dbTaskFiles = append(dbTaskFiles, file)
	}
	return file, nil
}
