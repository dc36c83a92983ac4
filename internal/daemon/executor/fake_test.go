package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/testlog"
	"hce/dc/internal/testwait"
)

// grown keeps the memory of "grow" alive.
var grown []byte

// asFake names the variable that makes the test binary another program: "worker" is a task
// program that follows its requests, "pool" opens a pool and waits to be killed.
const asFake = "EXECUTOR_TEST_FAKE"

func TestMain(m *testing.M) {
	switch os.Getenv(asFake) {
	case "worker":
		fakeWorker()
	case "pool":
		fakePool()
	}
	os.Exit(m.Run())
}

// request is a request to the fake worker.
type request struct {
	Do   string `json:"do"`
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
}

// reply is the answer of the fake worker.
type reply struct {
	Pid, Child int
	Text       string
	Args       []string
	Dir, Var   string
}

// fakeWorker serves one request per line.
func fakeWorker() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var a request
		if err := json.Unmarshal(line, &a); err != nil {
			fmt.Fprintln(os.Stderr, "bad request:", err)
			os.Exit(1)
		}
		dir, _ := os.Getwd()
		answer := reply{Pid: os.Getpid(), Text: a.Text, Args: os.Args[1:], Dir: dir, Var: os.Getenv("FAKE_VAR")}
		switch a.Do {
		case "stderr": // N bytes and the text, then answer
			os.Stderr.WriteString(strings.Repeat("x", a.N) + a.Text)
		case "exit":
			os.Stderr.WriteString(a.Text)
			os.Exit(a.N)
		case "exit later": // answer, then exit
			os.Stdout.Write(append(mustJSON(answer), '\n'))
			os.Exit(0)
		case "half":
			os.Stdout.WriteString(`{"text":"ha`)
			os.Exit(3)
		case "kill self":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "garbage":
			os.Stdout.WriteString("Traceback: no JSON\n")
			continue
		case "empty line":
			os.Stdout.WriteString("\n")
			continue
		case "two lines":
			os.Stdout.WriteString("{}\n{}\n")
			continue
		case "huge":
			os.Stdout.WriteString(`"` + strings.Repeat("x", a.N) + "\"\n")
			continue
		case "flood":
			for {
				os.Stdout.WriteString(strings.Repeat("x", 4096))
			}
		case "close stdout":
			os.Stdout.Close()
			sleepForever()
		case "grow":
			block := bytes.Repeat([]byte{1}, a.N)
			answer.Text = fmt.Sprint(len(block), block[len(block)-1])
			grown = block
		case "burn": // N ms of processor time
			var r syscall.Rusage
			for r.Utime.Nano() < int64(a.N)*1e6 {
				syscall.Getrusage(syscall.RUSAGE_SELF, &r)
			}
		case "gate": // wait until the file is removed
			os.WriteFile(a.Text+".begun", nil, 0o600)
			await(func() bool { return !fileExists(a.Text) })
		case "sleep":
			os.WriteFile(a.Text, mustJSON(answer), 0o600)
			sleepForever()
		case "hand back": // wait for SIGTERM, then answer
			term := make(chan os.Signal, 1)
			signal.Notify(term, syscall.SIGTERM)
			os.WriteFile(a.Text, mustJSON(answer), 0o600)
			<-term
			os.Stdout.Write(append(mustJSON(answer), '\n'))
			os.Exit(0)
		case "stubborn": // ignore SIGTERM, with a child that does the same
			signal.Ignore(syscall.SIGTERM)
			child := exec.Command("sleep", "3600") // inherits the ignored signals
			if err := child.Start(); err != nil {
				os.Exit(9)
			}
			answer.Child = child.Process.Pid
			os.WriteFile(a.Text+".new", mustJSON(answer), 0o600)
			os.Rename(a.Text+".new", a.Text)
			sleepForever()
		case "leave a child": // in its own session for N = 1
			child := exec.Command("sleep", "3600")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: a.N == 1}
			if err := child.Start(); err != nil {
				os.Exit(9)
			}
			answer.Child = child.Process.Pid
			os.WriteFile(a.Text, mustJSON(answer), 0o600)
			os.Exit(5)
		case "late line":
			os.Stdout.Write(append(mustJSON(answer), '\n'))
			await(func() bool { return fileExists(a.Text + ".go") }) // otherwise it would be "two lines"
			os.Stdout.WriteString("{}\n")
			os.WriteFile(a.Text, mustJSON(answer), 0o600)
			continue
		case "fail until": // fails while the file has fewer bytes than N
			f, _ := os.OpenFile(a.Text, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
			f.WriteString("x")
			if st, _ := f.Stat(); st.Size() < int64(a.N) {
				os.Exit(4)
			}
			f.Close()
		}
		os.Stdout.Write(append(mustJSON(answer), '\n'))
	}
}

// await polls in a fake worker. The worker exits if the condition fails for a minute.
func await(condition func() bool) {
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

// fakePool runs a pool in $FAKE_DIR with one slot and two tasks, and waits to be killed.
func fakePool() {
	dir := os.Getenv("FAKE_DIR")
	switch os.Getenv("FAKE_FULL_DISK") {
	case "submit":
		submitOnFullDisk(dir)
	case "restore":
		restoreOnFullDisk(dir)
	}
	l, err := OpenLocal(LocalConfig{Dir: dir + "/spool", DefaultSlots: 1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, t := range []Task{worker("runs", request{Do: "sleep", Text: dir + "/runs"}), worker("queued", request{Do: "echo", Text: "later"})} {
		if err := l.Submit(context.Background(), t); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	select {}
}

// limitFileSize makes writes beyond size bytes fail, as on a full disk, until restore.
func limitFileSize(size uint64) (restore func()) {
	signal.Ignore(syscall.SIGXFSZ)
	var limit unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_FSIZE, &limit)
	unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: limit.Max})
	return func() { unix.Setrlimit(unix.RLIMIT_FSIZE, &limit) }
}

// restoreOnFullDisk opens the pool and prints the state of task "hold" and the log.
func restoreOnFullDisk(dir string) {
	defer os.Exit(0)
	defer limitFileSize(16)() // enough for the process id in the lock
	var log testlog.Recorder
	l, err := OpenLocal(LocalConfig{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		fmt.Println(err)
		return
	}
	st, _ := l.Status(context.Background(), "hold")
	fmt.Printf("state: %s\n%s", st[0].State, &log)
	l.Close(context.Background())
}

// submitOnFullDisk prints the results of Submit.
func submitOnFullDisk(dir string) {
	l, err := OpenLocal(LocalConfig{Dir: dir + "/spool"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer os.Exit(0)
	defer limitFileSize(4096)() // coverage writes a file at the exit
	big := worker("big", request{Do: "echo", Text: strings.Repeat("x", 100_000)})
	fmt.Println("big:", l.Submit(context.Background(), big) != nil)
	st, _ := l.Status(context.Background(), "big")
	fmt.Println("state:", st[0].State)
	entries, _ := os.ReadDir(dir + "/spool")
	fmt.Println("files:", len(entries))
	fmt.Println("small:", l.Submit(context.Background(), worker("small", request{Do: "echo"})))
	l.Close(context.Background())
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// stage returns a stage that runs the fake worker.
func stage(args ...string) Stage {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// A program built with -race would sleep for a second before it exits.
	return Stage{Program: exe, Args: args, Env: []string{asFake + "=worker", "GORACE=atexit_sleep_ms=0"}}
}

// worker returns a task with one request to the fake worker.
func worker(id string, a request) Task {
	return Task{ID: id, Type: "test", Stages: []Stage{stage()}, Stdin: mustJSON(a)}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(stat, ')')
	return i > 0 && len(stat) > i+2 && stat[i+2] != 'Z' && stat[i+2] != 'X'
}

// announced waits for the file that a fake worker writes and decodes it.
func announced(t testing.TB, name string) reply {
	t.Helper()
	var v reply
	testwait.Until(t, "file "+name, func() bool {
		b, err := os.ReadFile(name)
		return err == nil && json.Unmarshal(b, &v) == nil
	})
	return v
}
