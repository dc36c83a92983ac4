package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asFake names the variable that turns the test binary into another program:
// "worker" is a task binary that obeys, "pool" opens a pool and is killed.
const asFake = "ENV_TEST_FAKE"

func TestMain(m *testing.M) {
	switch os.Getenv(asFake) {
	case "worker":
		fakeWorker()
	case "pool":
		fakePool()
	}
	os.Exit(m.Run())
}

// ask is a request to the fake worker.
type ask struct {
	Do   string `json:"do"`
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
}

// told is its answer.
type told struct {
	Pid, Child int
	Text       string
	Args       []string
	Dir, Var   string
}

// fakeWorker obeys one ask per line.
func fakeWorker() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var a ask
		if err := json.Unmarshal(line, &a); err != nil {
			fmt.Fprintln(os.Stderr, "bad request:", err)
			os.Exit(1)
		}
		dir, _ := os.Getwd()
		answer := told{Pid: os.Getpid(), Text: a.Text, Args: os.Args[1:], Dir: dir, Var: os.Getenv("FAKE_VAR")}
		switch a.Do {
		case "stderr": // N bytes and the text, then answer
			os.Stderr.WriteString(strings.Repeat("x", a.N) + a.Text)
		case "exit":
			os.Stderr.WriteString(a.Text)
			os.Exit(a.N)
		case "exit later": // answer now, be gone afterwards
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
			time.Sleep(time.Hour)
		case "grow":
			block := bytes.Repeat([]byte{1}, a.N)
			answer.Text = fmt.Sprint(len(block), block[len(block)-1])
			defer runtime.KeepAlive(block)
		case "burn": // N ms of processor time
			var r syscall.Rusage
			for r.Utime.Nano() < int64(a.N)*1e6 {
				syscall.Getrusage(syscall.RUSAGE_SELF, &r)
			}
		case "gate": // announce the pid, then wait until the file is gone
			os.WriteFile(a.Text+".begun", nil, 0o600)
			for fileExists(a.Text) {
				time.Sleep(time.Millisecond)
			}
		case "sleep": // for ever
			os.WriteFile(a.Text, mustJSON(answer), 0o600)
			time.Sleep(time.Hour)
		case "hand back": // wait for SIGTERM, then answer
			term := make(chan os.Signal, 1)
			signal.Notify(term, syscall.SIGTERM)
			os.WriteFile(a.Text, mustJSON(answer), 0o600)
			<-term
			os.Stdout.Write(append(mustJSON(answer), '\n'))
			os.Exit(0)
		case "stubborn": // ignore SIGTERM, with a child that does the same
			signal.Ignore(syscall.SIGTERM)
			child := exec.Command("sleep", "3600") // inherits what is ignored
			if err := child.Start(); err != nil {
				os.Exit(9)
			}
			answer.Child = child.Process.Pid
			os.WriteFile(a.Text+".new", mustJSON(answer), 0o600)
			os.Rename(a.Text+".new", a.Text)
			time.Sleep(time.Hour)
		case "leave a child": // in a session of its own for N = 1
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
			for !fileExists(a.Text + ".go") { // at once it were "two lines"
				time.Sleep(time.Millisecond)
			}
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

// fakePool runs a pool in $FAKE_DIR with one slot and two tasks, and waits to
// be killed.
func fakePool() {
	dir := os.Getenv("FAKE_DIR")
	if os.Getenv("FAKE_FILE_LIMIT") != "" {
		fakeFullDisk(dir)
	}
	l, err := OpenLocal(LocalConfig{Dir: dir + "/spool", DefaultSlots: 1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	again := worker("again", ask{Do: "sleep", Text: dir + "/again"})
	again.Attempts, again.Type = 2, "other"
	for _, t := range []Task{worker("runs", ask{Do: "sleep", Text: dir + "/runs"}), worker("queued", ask{Do: "echo", Text: "later"}), again} {
		if err := l.Submit(context.Background(), t); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	select {}
}

// fakeFullDisk lets every file end at 4 KiB, as a full disk would, and tells
// what Submit makes of it.
func fakeFullDisk(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	l, err := OpenLocal(LocalConfig{Dir: dir + "/spool"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var limit unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_FSIZE, &limit)
	defer os.Exit(0)
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &limit) // coverage writes a file at the exit
	unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: limit.Max})
	big := worker("big", ask{Do: "echo", Text: strings.Repeat("x", 100_000)})
	fmt.Println("big:", l.Submit(context.Background(), big) != nil)
	st, _ := l.Status(context.Background(), "big")
	fmt.Println("state:", st[0].State)
	entries, _ := os.ReadDir(dir + "/spool")
	fmt.Println("files:", len(entries))
	fmt.Println("small:", l.Submit(context.Background(), worker("small", ask{Do: "echo"})))
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

// stage is one that runs the fake worker.
func stage(args ...string) Stage {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// A program built with -race would sleep for a second before it exits.
	return Stage{Program: exe, Args: args, Env: []string{asFake + "=worker", "GORACE=atexit_sleep_ms=0"}}
}

// worker is a task of one request to the fake worker.
func worker(id string, a ask) Task {
	return Task{ID: id, Type: "test", Stages: []Stage{stage()}, Stdin: mustJSON(a)}
}

// alive tells whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(stat, ')')
	return i > 0 && len(stat) > i+2 && stat[i+2] != 'Z' && stat[i+2] != 'X'
}

// eventually waits for something that must come to pass; how long it takes
// decides nothing.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// announced waits for the file a fake writes and reads it.
func announced(t testing.TB, name string) told {
	t.Helper()
	var v told
	eventually(t, "file "+name, func() bool {
		b, err := os.ReadFile(name)
		return err == nil && json.Unmarshal(b, &v) == nil
	})
	return v
}
