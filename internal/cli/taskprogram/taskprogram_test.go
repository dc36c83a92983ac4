package taskprogram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/task"
)

// kindVariable selects the options of the test program.
const kindVariable = "TASKPROGRAM_TEST_KIND"

func TestMain(m *testing.M) {
	clitest.Main(m, func() {
		os.Exit(Run(Program{
			Text:    command.Text{Name: "test-task", Summary: "echoes", ExitStatus: "0 or 1."},
			Batches: os.Getenv(kindVariable) == "batches", Open: open,
			ErrorAnswer: func(_ json.RawMessage, err error) any { return err.Error() },
			Commands:    []Command{{Option: "turn", Value: "WORD", Help: "turns", Run: turn}},
		}))
	})
}

// open returns a job that answers with its settings.
func open(_ context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (task.Job, func(), error) {
	s := f.Section("Task")
	n, m, fails := s.Int("n", 1, 1, 9), s.Int("m", 1, 1, 9), s.Bool("fails", false)
	if err := Checked(f, log); err != nil {
		return nil, nil, err
	}
	if fails {
		return nil, nil, errors.New("no database")
	}
	job := task.JobFunc(func(_ context.Context, request json.RawMessage) (any, error) {
		return []any{request, n, m, maxTime.Seconds()}, nil
	})
	return job, func() { fmt.Fprintln(os.Stderr, "closed") }, nil
}

// turn is the command of the test program.
func turn(ctx context.Context, f *config.File, _ config.Application, log *slog.Logger, word string) error {
	n := f.Section("Task").Int("n", 1, 1, 9)
	if err := Checked(f, log); err != nil {
		return err
	}
	if word == "" {
		return errors.New("no word to turn")
	}
	if word == "on" { // until a signal
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	fmt.Println(n, word)
	fmt.Fprintln(os.Stderr, "turned")
	return nil
}

func run(t *testing.T, folder, kind string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	c := clitest.Command(t, folder, args...)
	c.Stdin = strings.NewReader(`"x"`)
	c.Env = append(c.Env, kindVariable+"="+kind)
	return clitest.Output(t, c)
}

func TestRun(t *testing.T) {
	const good = "[Application]\nlog = stderr\n[Task]\nn = 3\n"
	logFile := "[Application]\ndata_dir = .\nlog = task.log\n[Task]\nfails = 1\n"
	for name, c := range map[string]struct {
		ini    string // of test-task.ini; "" for none
		kind   string
		args   []string
		status int
		out    string
		says   string // part of the line on stderr
	}{
		"answer":                     {ini: good, out: `["x",3,1,0]`, says: "closed"},
		"explicit file":              {args: []string{"-c", "given.ini"}, out: `["x",5,1,0]`, says: "closed"},
		"maxtime":                    {ini: good, kind: "batches", args: []string{"--maxtime", "90"}, out: `["x",3,1,90]`, says: "closed"},
		"maxtime, one dash":          {ini: good, kind: "batches", args: []string{"-m=1"}, out: `["x",3,1,1]`, says: "closed"},
		"maxtime with a unit":        {ini: good, kind: "batches", args: []string{"--maxtime", "2m"}, out: `["x",3,1,120]`, says: "closed"},
		"maxtime is 0":               {ini: good, kind: "batches", args: []string{"--maxtime", "0"}, status: 1, says: "--maxtime"},
		"maxtime is not a number":    {ini: good, kind: "batches", args: []string{"--maxtime", "soon"}, status: 1, says: `"soon"`},
		"maxtime is more than a day": {ini: good, kind: "batches", args: []string{"--maxtime", "86401"}, status: 1, says: "24h"},
		"maxtime without batches":    {ini: good, args: []string{"--maxtime", "9"}, status: 1, says: "--maxtime is unknown"},
		"command":                    {ini: good, args: []string{"--turn", "it"}, out: "3 it", says: "turned"},
		"command that fails":         {ini: good, args: []string{"--turn="}, status: 1, says: "test-task: no word to turn"},
		"command, interrupted":       {ini: good, args: []string{"--turn", "on"}, status: 4, says: "test-task: interrupted; the same command continues"},
		"command without a value":    {ini: good, args: []string{"--turn"}, status: 1, says: "--turn needs a value (WORD)"},
		"unknown option":             {ini: good, args: []string{"--no-such"}, status: 1, says: "--no-such is unknown"},
		"no ini file":                {status: 1, says: "no configuration file"},
		"explicit file is missing":   {ini: good, args: []string{"--config", "none.ini"}, status: 1, says: "none.ini"},
		"explicit file is a folder":  {ini: good, args: []string{"--config", "."}, status: 1, says: "folder"},
		"invalid ini text":           {ini: "[Task\nn = 1", status: 1, says: "is not an ini file"},
		"one wrong value":            {ini: good + "m = many\n", status: 1, says: "many"},
		"two wrong values":           {ini: "[Application]\nlog = stderr\n[Task]\nn = 0\nm = many\n", status: 1, says: "; "},
		"log cannot be written":      {ini: "[Application]\nlog = given.ini/x.log\ndata_dir = .\n", status: 1, says: "log: "},
		"start fails":                {ini: good + "fails = 1\n", status: 1, says: "test-task: no database"},
		"start fails, log file":      {ini: logFile, status: 1, says: "test-task: no database"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range map[string]string{"test-task.ini": c.ini, "given.ini": "[Application]\nlog = stderr\n[Task]\nn = 5\n"} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.kind == "" {
				c.kind = "plain"
			}
			stdout, stderr, status := run(t, folder, c.kind, c.args...)
			if status != c.status || strings.TrimSpace(stdout) != c.out {
				t.Errorf("status %d, answer %q; want %d, %q", status, stdout, c.status, c.out)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) {
				t.Errorf("stderr %q, want one line with %q", stderr, c.says)
			}
			if c.status != 0 && !strings.HasPrefix(stderr, "test-task: ") {
				t.Errorf("stderr %q without the program's name", stderr)
			}
			if name == "start fails, log file" {
				log, err := os.ReadFile(filepath.Join(folder, "task.log"))
				if err != nil || !strings.Contains(string(log), "no database") {
					t.Errorf("log %q %v", log, err)
				}
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, kind := range []string{"plain", "batches"} {
		stdout, stderr, status := run(t, t.TempDir(), kind, "--help")
		if status != 0 || stderr != "" || !strings.Contains(stdout, "Usage: test-task") || strings.Contains(stdout, "--maxtime") != (kind == "batches") {
			t.Errorf("%s: status %d, %q, %q", kind, status, stdout, stderr)
		}
	}
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "test-task.ini"), []byte("[Application]\nlog = stderr\n[Task]\nnn = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := run(t, folder, "plain")
	if status != 0 || !strings.Contains(stdout, `["x",1,1,0]`) || !strings.Contains(stderr, "WARN") || !strings.Contains(stderr, "nn") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

// --check-config reads what the program reads and creates no file.
func TestCheckConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		text, stdout, stderr string
		status               int
	}{
		"fine":    {"[Task]\nn = 3\n", "line 2\nn = 3\n", "", 0},
		"wrong":   {"[Task]\nn = 33\nm = x\n", "n = 33", "m = \"x\" is not a whole number from 1 to 9", 1},
		"unknown": {"[Task]\nnn = 3\n", "unknown, without effect: nn", "test-task.ini, line 2: key nn of section [Task] is unknown; did you mean n?", 0},
		"no data": {"[Application]\ndata_dir = test-task.ini\n", "[Application]", "error: [Application] data_dir: ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "test-task.ini"), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, status := run(t, folder, "plain", "--check-config")
			if status != tc.status || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) || tc.stderr == "" && stderr != "" {
				t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
			}
			if files, _ := os.ReadDir(folder); len(files) != 1 {
				t.Errorf("--check-config created %v", files)
			}
		})
	}
}
