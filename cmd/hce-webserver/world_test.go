package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver"
	"hce/dc/internal/apps/webserver/journal"
	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// killStep is the environment variable with the number of the step of a journal at which a program kills
// itself.
const killStep = "HCE_WEBSERVER_TEST_KILL_STEP"

func TestMain(m *testing.M) {
	clitest.Main(m, func() {
		if at, err := strconv.ParseInt(os.Getenv(killStep), 10, 64); err == nil {
			var steps atomic.Int64
			journal.Step = func() {
				if steps.Add(1) == at {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {} // the signal ends this thread
				}
			}
		}
		main()
	})
}

// portStep is the distance of crawler ports in the tests.
const portStep = 1

// node is a folder with an ini file, and the program that runs in it.
type node struct {
	dir   string
	port  int // of HTTP, or of the Web Store
	cmd   *exec.Cmd
	log   *testlog.Recorder
	ended <-chan error
	env   []string
}

// pair reserves a port and the one portStep above it. FreePorts reserves a port by its UDP port, so pair
// does the same.
func pair(t *testing.T) int {
	t.Helper()
	for range 100 {
		ports, release, err := childprocess.FreePorts(1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		address := fmt.Sprintf("127.0.0.1:%d", ports[0]+portStep)
		claim, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = claim.Close() })
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return ports[0]
		}
	}
	t.Fatal("no two neighbouring ports are free")
	return 0
}

func newNode(t *testing.T, ini string) *node {
	t.Helper()
	n := &node{dir: t.TempDir(), port: pair(t)}
	n.write(t, "hce-webserver.ini", fmt.Sprintf(strings.ReplaceAll(ini, "PORT", "%[1]d"), n.port))
	return n
}

// server returns a web server with the files of a folder, which is not started.
func server(t *testing.T, store int, more string, files map[string]string) *node {
	t.Helper()
	n := newNode(t, fmt.Sprintf("[Application]\ndata_dir = data\n[WebServer]\nfolder = www\nport = PORT\n%s\n[Crawler]\nweb_store = 127.0.0.1:%d\npause = 0\nAllowedNetworks = 127.0.0.0/8\n", more, store))
	n.write(t, "www/.keep", "")
	for name, text := range files {
		n.write(t, "www/"+name, text)
	}
	return n
}

// store returns a Web Store, which is not started.
func store(t *testing.T, more string) *node {
	t.Helper()
	return newNode(t, "[Application]\ndata_dir = data\n[WebStore]\nport = PORT\nAllowedNetworks = 127.0.0.0/8\n"+more)
}

func (n *node) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(n.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// start starts the program and waits until it runs.
func (n *node) start(t *testing.T, args ...string) {
	t.Helper()
	n.launch(t, nil, args...)
	testwait.Until(t, "the program runs", func() bool {
		select {
		case err := <-n.ended:
			t.Fatalf("ended: %v\n%s", err, n.log.String())
		default:
		}
		return n.log.Count(" runs ") > 0
	})
}

func (n *node) launch(t *testing.T, stdin io.Reader, args ...string) {
	t.Helper()
	c := clitest.Command(t, n.dir, args...)
	c.Env = append(c.Env, n.env...)
	log := &testlog.Recorder{}
	c.Stderr, c.Stdout, c.Stdin = log, log, stdin
	result, err := childprocess.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- <-result; close(ended) }()
	n.cmd, n.log, n.ended = c, log, ended
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("log of %v:\n%s", args, log.String())
		}
	})
}

// stop stops the program in order.
func (n *node) stop(t *testing.T) {
	t.Helper()
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-n.ended; err != nil {
		t.Errorf("ended with %v\n%s", err, n.log.String())
	}
}

// kill kills the program.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

func (n *node) host() string { return fmt.Sprintf("127.0.0.1:%d", n.port) }

func (n *node) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + n.host() + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// ctl runs "hce-webserver ctl" and returns its output.
func (n *node) ctl(t *testing.T, words ...string) string {
	t.Helper()
	stdout, stderr, status := clitest.Run(t, n.dir, append([]string{"ctl"}, words...)...)
	if status != 0 {
		t.Fatalf("ctl %q: status %d, %s", words, status, stderr)
	}
	return stdout
}

func (n *node) state(t *testing.T) (s webserver.State) {
	t.Helper()
	if err := json.Unmarshal([]byte(n.ctl(t, "--json", "status")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// lines reads a file of JSON lines.
func lines[T any](t *testing.T, path string) (all []T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all
		}
		var v T
		if err := errors.Join(err, json.Unmarshal(line, &v)); err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		all = append(all, v)
	}
}

func (n *node) documents(t *testing.T) []webstore.Record {
	t.Helper()
	return lines[webstore.Record](t, filepath.Join(n.dir, "data/webstore/documents.jsonl"))
}

func (n *node) hosts(t *testing.T) map[string]int64 {
	t.Helper()
	hosts := map[string]int64{}
	for _, h := range lines[webstore.Host](t, filepath.Join(n.dir, "data/webstore/expiry.jsonl")) {
		hosts[h.Host] = h.Time
	}
	return hosts
}
