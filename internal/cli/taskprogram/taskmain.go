// Package taskprogram is what the mains of the task binaries have in common: flags,
// ini file, log, signals, then the loop of package task.
//
//	os.Exit(taskprogram.Run(taskprogram.Program{Name: "db-task", Open: open}))
package taskprogram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/manual"
	"hce/dc/internal/config"
	"hce/dc/internal/task"
)

// Flags are the options beyond --config and --help.
type Flags struct {
	MaxTime time.Duration // --maxtime; 0 when not given
}

// Program is one task binary.
type Program struct {
	Name, Summary, Notes string
	Ini                  string // name of the ini file without .ini; "" means Name
	Batches              bool   // takes --maxtime
	// Memory reads from the ini file how many bytes the process should stay below,
	// a soft limit that the garbage collector works for; nil stands for 512 MiB.
	// Values are checked later, by Open.
	Memory func(f *config.File) int64
	// Open reads the ini file, checks it with Checked and builds the job; close
	// ends what it opened. An error is a critical failure.
	Open        func(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, flags Flags) (job task.Job, close func(), err error)
	ErrorAnswer func(request json.RawMessage, err error) any
	Options     func(*flags.Set) // declares further options of the loop; may be nil
	Commands    []Command
}

// Command is one thing that a program does instead of answering requests, when
// its option is given.
type Command struct {
	Option, Value, Help string           // --Option VALUE
	More                func(*flags.Set) // declares further options of the command; may be nil
	// Run does it, and writes its result, if it has one, to stdout. An error is a
	// critical failure.
	Run func(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, value string) error
}

// A task lives on short-lived objects, so collecting garbage less often buys time
// with memory, up to a limit that the collector then keeps.
const (
	gcPercent   = 200
	memoryLimit = 512 << 20 // bytes, soft
)

// Run is the program; it gives the exit status.
func Run(p Program) int {
	debug.SetGCPercent(gcPercent)
	var path, maxTime string
	var only bool
	values := make([]string, len(p.Commands))
	s := flags.New(p.Name, p.Summary)
	ini := cmp.Or(p.Ini, p.Name)
	s.Text(&path, "config", "c", "FILE", "ini file; without it "+ini+".ini is looked for in the current\nfolder and in /etc/"+ini+"/")
	s.Flag(&only, "check-config", "", "print the effective configuration, say what is wrong with it, and\nend; nothing is opened")
	if p.Batches {
		s.Text(&maxTime, "maxtime", "m", "SECONDS", "limit for a batch that names none")
	}
	if p.Options != nil {
		p.Options(s)
	}
	for i, c := range p.Commands {
		s.Text(&values[i], c.Option, "", c.Value, c.Help)
		if c.More != nil {
			c.More(s)
		}
	}
	s.Note(p.Notes)
	err := s.Parse(os.Args[1:])
	if text, asked := manual.Answer(s, err); asked {
		fmt.Print(text)
		return task.ExitTrusted
	}
	var flags Flags
	if err == nil && maxTime != "" {
		n, bad := strconv.Atoi(maxTime)
		if bad != nil || n < 1 || n > 86400 {
			err = fmt.Errorf("option --maxtime = %q is not a number of seconds from 1 to 86400", maxTime)
		}
		flags.MaxTime = time.Duration(n) * time.Second
	}
	if err != nil {
		return p.failed(err)
	}
	path, err = config.Find(ini, path)
	if err != nil {
		return p.failed(err)
	}
	f, err := config.Load(path)
	if err != nil {
		return p.failed(err)
	}
	if p.Memory == nil {
		debug.SetMemoryLimit(memoryLimit)
	} else {
		debug.SetMemoryLimit(p.Memory(f))
	}
	app := f.Application(p.Name, "log/"+p.Name+".log")
	if only {
		return p.check(context.Background(), f, app, flags)
	}
	log, _, out, err := app.Log.Open(os.Stderr)
	if err != nil {
		return p.failed(err)
	}
	defer out.Close()
	log = log.With("program", p.Name, "pid", os.Getpid())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for i, c := range p.Commands {
		if !s.Given(c.Option) {
			continue
		}
		if err := c.Run(ctx, f, app, log, values[i]); err != nil {
			return p.failed(err)
		}
		return task.ExitTrusted
	}
	job, closeJob, err := p.Open(ctx, f, app, log, flags)
	if err != nil {
		if app.Log.File != "" { // else it says it once, below
			log.Error("start failed", "error", err)
		}
		return p.failed(err)
	}
	defer closeJob()
	return task.Main(ctx, job, task.Options{Name: p.Name, ErrorAnswer: p.ErrorAnswer, Log: log})
}

// failed says in one line why the program cannot work.
func (p Program) failed(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %s\n", p.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
	return task.ExitCritical
}

// Checked gives what is wrong with the values of f, and logs the keys that
// nobody knows. Call it when everything was read and nothing is open yet: with
// --check-config the start ends here.
func Checked(f *config.File, log *slog.Logger) error {
	if f == checking {
		return errChecked
	}
	if err := f.Err(); err != nil {
		return err
	}
	for _, u := range f.Unknown() {
		log.Warn("configuration: " + u)
	}
	return nil
}

// DBTaskFile loads the ini file of the stores that the section names.
func DBTaskFile(f *config.File, s *config.Section) (*config.File, error) {
	stores, err := config.Load(s.Path("db-task_ini", "db-task.ini"))
	if err != nil {
		return nil, fmt.Errorf("db-task_ini: %w", err)
	}
	if checking != nil {
		besides = append(besides, stores)
	}
	return stores, nil
}
