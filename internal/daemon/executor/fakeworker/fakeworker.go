// Package fakeworker is a task program for tests of executors: the test binary itself, which
// follows its requests.
//
//	func TestMain(m *testing.M) {
//		fakeworker.Main() // does not return in the worker
//		os.Exit(m.Run())
//	}
//	...
//	program, env := fakeworker.Command()
//	task.Stages = []executor.Stage{{Program: program, Env: env}}
//	task.Stdin = fakeworker.JSON(fakeworker.Request{Do: "echo", Text: "hello"})
package fakeworker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// variable makes the test binary the worker.
const variable = "HCE_TEST_FAKE_WORKER"

// Main serves requests and exits if this process is a worker. Call it first in TestMain.
func Main() {
	if os.Getenv(variable) == "1" {
		serveRequests()
	}
}

// Command returns the program and the environment of the worker.
func Command() (program string, env []string) {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// A program built with -race would sleep for a second before it exits.
	return exe, []string{variable + "=1", "GORACE=atexit_sleep_ms=0"}
}

// grown keeps the memory of "grow" alive.
var grown [][]byte

// Request is a request to the fake worker; Do says what it does.
type Request struct {
	Do   string `json:"do"`
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
}

// Reply is the answer of the fake worker.
type Reply struct {
	Pid, Child int
	Text       string
	Args       []string
	Dir, Var   string
}

// serveRequests answers one request per line.
func serveRequests() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var a Request
		if err := json.Unmarshal(line, &a); err != nil {
			fmt.Fprintln(os.Stderr, "bad request:", err)
			os.Exit(1)
		}
		dir, _ := os.Getwd()
		answer := Reply{Pid: os.Getpid(), Text: a.Text, Args: os.Args[1:], Dir: dir, Var: os.Getenv("FAKE_VAR")}
		if write, known := outputs[a.Do]; known {
			write(a, &answer)
			continue
		}
		if act, known := acts[a.Do]; known {
			act(a, &answer)
		}
		writeAnswer(&answer)
	}
}

func writeAnswer(answer *Reply) { os.Stdout.Write(append(JSON(answer), '\n')) }

// outputs are requests that write something else than one answer.
var outputs = map[string]func(a Request, answer *Reply){
	"garbage":    func(Request, *Reply) { os.Stdout.WriteString("Traceback: no JSON\n") },
	"empty line": func(Request, *Reply) { os.Stdout.WriteString("\n") },
	"two lines":  func(Request, *Reply) { os.Stdout.WriteString("{}\n{}\n") },
	"huge":       func(a Request, _ *Reply) { os.Stdout.WriteString(`"` + strings.Repeat("x", a.N) + "\"\n") },
	"flood": func(Request, *Reply) {
		for {
			os.Stdout.WriteString(strings.Repeat("x", 4096))
		}
	},
	"close stdout": func(Request, *Reply) {
		os.Stdout.Close()
		sleepForever()
	},
	"late line": func(a Request, answer *Reply) {
		writeAnswer(answer)
		awaitCondition(func() bool { return Exists(a.Text + ".go") }) // otherwise it would be "two lines"
		os.Stdout.WriteString("{}\n")
		os.WriteFile(a.Text, JSON(answer), 0o600)
	},
}

// acts are requests that are answered at their end, if they have one.
var acts = map[string]func(a Request, answer *Reply){
	"stderr": func(a Request, _ *Reply) { // N bytes and the text, then answer
		os.Stderr.WriteString(strings.Repeat("x", a.N) + a.Text)
	},
	"exit": func(a Request, _ *Reply) {
		os.Stderr.WriteString(a.Text)
		os.Exit(a.N)
	},
	"exit later": func(_ Request, answer *Reply) { // answer, then exit
		writeAnswer(answer)
		os.Exit(0)
	},
	"half": func(Request, *Reply) {
		os.Stdout.WriteString(`{"text":"ha`)
		os.Exit(3)
	},
	"kill self": func(Request, *Reply) { syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"grow": func(a Request, answer *Reply) {
		block := bytes.Repeat([]byte{1}, a.N)
		answer.Text = fmt.Sprint(len(block), block[len(block)-1])
		grown = append(grown, block)
	},
	"burn": func(a Request, _ *Reply) { // N ms of processor time
		var r syscall.Rusage
		for r.Utime.Nano() < int64(a.N)*1e6 {
			syscall.Getrusage(syscall.RUSAGE_SELF, &r)
		}
	},
	"gate": func(a Request, _ *Reply) { awaitGate(a.Text) },
	"record": func(a Request, _ *Reply) { // as "gate", with the start and the end in the file of runs
		recordBegin(a.Text + ".runs")
		awaitGate(a.Text)
		recordLine(a.Text+".runs", "end")
	},
	"sleep": func(a Request, answer *Reply) {
		os.WriteFile(a.Text, JSON(answer), 0o600)
		sleepForever()
	},
	"hand back": func(a Request, answer *Reply) { // wait for SIGTERM, then answer
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		os.WriteFile(a.Text, JSON(answer), 0o600)
		<-term
		writeAnswer(answer)
		os.Exit(0)
	},
	"stubborn":      ignoreTermination,
	"leave a child": leaveChild,
	"append": func(a Request, _ *Reply) { // N as a line to the file that the first line of the text names
		file, _, _ := strings.Cut(a.Text, "\n")
		recordLine(file, fmt.Sprint(a.N))
	},
	"fail until":   func(a Request, _ *Reply) { exitUntil(a, 4) },
	"broken until": func(a Request, _ *Reply) { exitUntil(a, 1) }, // as by a full disk
}

// awaitGate waits until the file is removed.
func awaitGate(name string) {
	os.WriteFile(name+".begun", nil, 0o600)
	awaitCondition(func() bool { return !Exists(name) })
}

// ignoreTermination ignores SIGTERM, with a child that does the same.
func ignoreTermination(a Request, answer *Reply) {
	signal.Ignore(syscall.SIGTERM)
	child := exec.Command("sleep", "3600") // inherits the ignored signals
	if err := child.Start(); err != nil {
		os.Exit(9)
	}
	answer.Child = child.Process.Pid
	os.WriteFile(a.Text+".new", JSON(answer), 0o600)
	os.Rename(a.Text+".new", a.Text)
	sleepForever()
}

// leaveChild exits without its child, which is in its own session for N = 1.
func leaveChild(a Request, answer *Reply) {
	child := exec.Command("sleep", "3600")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: a.N == 1}
	if err := child.Start(); err != nil {
		os.Exit(9)
	}
	answer.Child = child.Process.Pid
	os.WriteFile(a.Text, JSON(answer), 0o600)
	os.Exit(5)
}

// exitUntil exits with a code while the file has fewer bytes than N.
func exitUntil(a Request, code int) {
	f, _ := os.OpenFile(a.Text, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	defer f.Close()
	f.WriteString("x")
	if st, _ := f.Stat(); st.Size() < int64(a.N) {
		os.Exit(code)
	}
}

// awaitCondition polls in a fake worker. The worker exits if the condition fails for a minute.
func awaitCondition(condition func() bool) {
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			os.Exit(8)
		}
	}
}

func sleepForever() {
	for {
		time.Sleep(time.Hour)
	}
}

// recordBegin records a start: "begin", or "overlap" while an earlier run that has not ended is alive.
func recordBegin(name string) {
	what := "begin"
	text, _ := os.ReadFile(name)
	for line := range strings.Lines(string(text)) {
		var pid int
		if _, err := fmt.Sscanf(line, "begin %d", &pid); err == nil && Alive(pid) && !strings.Contains(string(text), fmt.Sprintf("end %d\n", pid)) {
			what = "overlap"
		}
	}
	recordLine(name, what)
}

// recordLine appends a line with the process id to a file.
func recordLine(name, what string) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(7)
	}
	fmt.Fprintln(f, what, os.Getpid())
	f.Close()
}

// Exists reports whether a file exists.
func Exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// JSON encodes a value that has no error.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Alive reports whether a process exists and is not a zombie.
func Alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(stat, ')')
	return i > 0 && len(stat) > i+2 && stat[i+2] != 'Z' && stat[i+2] != 'X'
}

// Announced waits for the file that a worker writes and decodes it.
func Announced(t testing.TB, name string) Reply {
	t.Helper()
	var v Reply
	testwait.Until(t, "file "+name, func() bool {
		b, err := os.ReadFile(name)
		return err == nil && json.Unmarshal(b, &v) == nil
	})
	return v
}

// Children returns the running children of this process.
func Children(t testing.TB) []int {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var pids []int
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[strings.LastIndex(string(b), ")")+1:]))
		if fields[1] == strconv.Itoa(os.Getpid()) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}
