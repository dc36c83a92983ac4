//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// The sh blocks of the README are executed in order, in one shell, in a folder with bin,
// ini and examples of the repository. Other ports avoid conflicts with a daemon of this
// machine.

// readmeLimit ends a run that hangs. No result depends on it.
const readmeLimit = 3 * time.Minute

// readmePort is the port of the example site in the request files.
const readmePort = "8080"

func TestReadme(t *testing.T) {
	commands := readmeCommands(t, "../README.md", "../docs/getting-started.md")
	outputs := newReadmeTree(t).run(t, commands)
	answers := func(i int) [][]byte { return bytes.Split(bytes.TrimSpace(outputs[i]), []byte("\n")) }
	checkFacts(t, readmeFacts, commands, outputs)
	for i, command := range commands {
		if strings.Contains(command, "< examples/") && len(answers(i)) != 1 {
			t.Errorf("%s: %d lines, want one", command, len(answers(i)))
		}
		if strings.HasPrefix(command, "cat ") && len(answers(i)) != 2 {
			t.Errorf("%s: %d lines, want two", command, len(answers(i)))
		}
	}
}

// The commands of the tutorial work, and their outputs are what it says.
func TestTutorial(t *testing.T) {
	commands := readmeCommands(t, "../docs/tutorial.md")
	checkFacts(t, tutorialFacts, commands, newReadmeTree(t).run(t, commands))
}

var tutorialFacts = facts{
	"hce crawl":        func(out []byte) error { return readmeHas(out, "9 URLs, 9 pages") },
	"hce site ls":      func(out []byte) error { return readmeHas(out, "town") },
	"hce url ls":       func(out []byte) error { return readmeHas(out, "processed   200") },
	"--markdown":       func(out []byte) error { return readmeHas(out, "# The tide mill") },
	"--headers":        func(out []byte) error { return readmeHas(out, "Content-Type: text/html") },
	"hce explain":      func(out []byte) error { return readmeHas(out, "is not due") },
	"--try-template":   func(out []byte) error { return readmeHas(out, "word               tide") },
	"--site leads":     func(out []byte) error { return readmeHas(out, "The miller therefore") },
	"grep -a -m 3":     func(out []byte) error { return readmeHas(out, "/town/") },
	"head -c 2":        func(out []byte) error { return readmeHas(out, "PK") },        // a ZIP file
	"head -n 3":        func(out []byte) error { return readmeHas(out, `"title":"`) }, // the order depends on the port
	"-cmd SITE_STATUS": func(out []byte) error { return readmeHas(out, `"recrawlPeriod": 1440`) },
	"base64 -d":        func(out []byte) error { return readmeHas(out, `"name":"word"`) },
	"dc-admin top":     func(out []byte) error { return readmeHas(out, "BatchTasksManager") },
	"--cmd DRAIN":      func(out []byte) error { return readmeHas(out, `"AdminInterfaceServer"`) },
}

// facts check the output of commands, by a part of the command.
type facts map[string]func(out []byte) error

// checkFacts checks the outputs. Each fact has a command.
func checkFacts(t *testing.T, all facts, commands []string, outputs [][]byte) {
	t.Helper()
	checked := map[string]bool{}
	for i, command := range commands {
		for name, check := range all {
			if !strings.Contains(command, name) {
				continue
			}
			checked[name] = true
			if err := check(outputs[i]); err != nil {
				t.Errorf("%s: %v\n%s", command, err, readmeStart(outputs[i]))
			}
		}
	}
	for name := range all {
		if !checked[name] {
			t.Errorf("no command has %q", name)
		}
	}
}

var readmeFacts = facts{
	"-cmd SITE_NEW": func(out []byte) error {
		var answer wire.GeneralResponse
		if err := readmeObject(out, &answer); err != nil {
			return err
		}
		if answer.ErrorCode != 0 || len(answer.Statuses) != 1 {
			return fmt.Errorf("the site is not created: %+v", answer)
		}
		return nil
	},
	"ini -cmd SITE_STATUS": func(out []byte) error {
		var site wire.Site
		if err := readmeObject(out, &site); err != nil {
			return err
		}
		if site.State != wire.SiteActive || site.Contents == 0 || site.Finished == nil || !*site.Finished {
			return fmt.Errorf("not finished: state %d, %d contents", site.State, site.Contents)
		}
		return nil
	},
	"-cmd URL_FETCH": func(out []byte) error {
		var urls []wire.URL
		if err := readmeObject(out, &urls); err != nil {
			return err
		}
		if len(urls) == 0 || urls[0].Status != wire.StatusProcessed {
			return fmt.Errorf("%d URLs", len(urls))
		}
		return nil
	},
	"-cmd BATCH": func(out []byte) error {
		var pages []struct {
			ProcessedContents []struct {
				Buffer string `json:"buffer"`
			} `json:"processedContents"`
		}
		if err := readmeObject(out, &pages); err != nil {
			return err
		}
		if len(pages) != 1 || len(pages[0].ProcessedContents) == 0 {
			return fmt.Errorf("%d pages without contents", len(pages))
		}
		return nil
	},
	"dc-admin top":        func(out []byte) error { return readmeHas(out, "BatchTasksManagerRealTime") },
	"--check-config":      func(out []byte) error { return readmeHas(out, "[BatchTasksManagerRealTime]") },
	"base64 -d":           func(out []byte) error { return readmeHas(out, `"data":["The tide mill"]`) },
	"--cmd STAT":          func(out []byte) error { return readmeHas(out, `"batches_crawl_total"`) },
	"--cmd DRAIN":         func(out []byte) error { return readmeHas(out, `"AdminInterfaceServer"`) },
	"crawler-task.ini < ": func(out []byte) error { return readmeBatch(out, wire.StatusCrawled) },
	"--explain":           func(out []byte) error { return readmeHas(out, `"canonical": "http`) },
	"bin/processor-task":  func(out []byte) error { return readmeBatch(out, wire.StatusProcessed) },
	"bin/db-task":         func(out []byte) error { return readmeHas(out, `["SITE_STATUS",{`) },
	"FROM urls":           func(out []byte) error { return readmeHas(out, "processed|200|") },
	"dc_rdata/.segments":  func(out []byte) error { return readmeHas(out, "WARC-Target-URI: http") },
}

func readmeHas(out []byte, part string) error {
	if !bytes.Contains(out, []byte(part)) {
		return fmt.Errorf("the output has no %s", part)
	}
	return nil
}

// readmeBatch checks that both items in the answer of a task have the status.
func readmeBatch(out []byte, status int64) error {
	batch, err := wire.ReadBatch(out, &lenient.Notes{})
	if err != nil {
		return err
	}
	if len(batch.Items) != 2 {
		return fmt.Errorf("%d items", len(batch.Items))
	}
	for _, it := range batch.Items {
		if it.URL.Status != status || it.URL.ErrorMask != 0 {
			return fmt.Errorf("%s is in status %d with %v", it.URL.URL, it.URL.Status, it.URL.ErrorMask.Names())
		}
	}
	return nil
}

// readmeObject reads the answer of the only node from the output of dc-client.
func readmeObject(out []byte, into any) error {
	var answer struct {
		Code  int `json:"errorCode"`
		Items []struct {
			Code   int             `json:"errorCode"`
			Object json.RawMessage `json:"itemObject"`
		} `json:"itemsList"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return err
	}
	if answer.Code != 0 || len(answer.Items) != 1 || answer.Items[0].Code != 0 {
		return errors.New("the answer is an error")
	}
	return json.Unmarshal(answer.Items[0].Object, into)
}

func readmeStart(out []byte) []byte { return out[:min(len(out), 2000)] }

// readmeCommands returns the lines of the sh blocks of pages. Other tests run the targets of the
// Makefile; here they are checked and empty.
func readmeCommands(t *testing.T, pages ...string) (commands []string) {
	t.Helper()
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlocks(t, string(text)) {
			commands = append(commands, block...)
		}
	}
	if len(commands) < 10 {
		t.Fatalf("%v have %d commands in their sh blocks", pages, len(commands))
	}
	for i, command := range commands {
		if target, ok := strings.CutPrefix(command, "make "); ok {
			if !readmeTarget(t, target) {
				t.Errorf("the Makefile has no target %s", target)
			}
			commands[i] = ""
		}
	}
	return commands
}

// shellBlocks returns the lines of the sh blocks of a page.
func shellBlocks(t *testing.T, text string) (blocks [][]string) {
	t.Helper()
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "```sh":
			inside = true
			blocks = append(blocks, nil)
		case line == "```":
			inside = false
		case inside && strings.TrimSpace(line) != "":
			last := &blocks[len(blocks)-1]
			*last = append(*last, line)
		}
	}
	if inside {
		t.Fatal("an sh block has no end")
	}
	return blocks
}

// readmeTarget reports whether the Makefile has a target.
func readmeTarget(t *testing.T, target string) bool {
	t.Helper()
	file, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(file)
}

// readmeTree is a copy of the repository after make build, as far as the README needs it.
type readmeTree struct {
	dir  string
	site string            // port of the example site
	env  []string          // ports of the daemon
	keys *strings.Replacer // replaces port 8080 and the md5s of its URLs
}

// readmeURL matches the URLs in the request files.
var readmeURL = regexp.MustCompile(`http://127\.0\.0\.1:` + readmePort + `[^"\\]*`)

// newReadmeTree copies the files that the commands need. The key of a URL is the md5 of
// its text, so another port needs other keys.
func newReadmeTree(t *testing.T) readmeTree {
	t.Helper()
	f := readmeTree{dir: t.TempDir()}
	ports := freePorts(t, 3)
	f.site = strconv.Itoa(ports[0])
	clients, operators := strconv.Itoa(ports[1]), strconv.Itoa(ports[2])
	f.env = append(os.Environ(),
		"DC_ClientInterfaceService_serverPort="+clients, "DC_dcc_clientPort="+clients,
		"DC_AdminInterfaceServer_serverPort="+operators, "DC_dtma_clientPort="+operators)
	bin, err := filepath.Abs("../bin")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bin, filepath.Join(f.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	f.copy(t, "ini", "../ini/*", strings.NewReplacer())
	requests, err := filepath.Glob("../examples/*.json")
	if err != nil || len(requests) == 0 {
		t.Fatalf("%d request files, %v", len(requests), err)
	}
	pairs := []string{":" + readmePort, ":" + f.site}
	for _, path := range requests {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range readmeURL.FindAllString(string(text), -1) {
			old, now := wire.Md5(url), wire.Md5(strings.Replace(url, readmePort, f.site, 1))
			pairs = append(pairs, old, now, old[:2]+"/"+old[2:], now[:2]+"/"+now[2:])
		}
	}
	f.keys = strings.NewReplacer(pairs...)
	f.copy(t, "examples", "../examples/*.json", f.keys)
	return f
}

// copy copies the matching files into a folder of f.
func (f readmeTree) copy(t *testing.T, folder, match string, change *strings.Replacer) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(f.dir, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(match)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(f.dir, folder, filepath.Base(path)), []byte(change.Replace(string(text))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run executes the commands in one bash and returns the stdout of each; "" does nothing.
// It ends at the first failure and kills background processes then. Otherwise it waits for
// them: the commands must end them.
func (f readmeTree) run(t *testing.T, commands []string) [][]byte {
	t.Helper()
	const mark = "@@ command "
	var script strings.Builder
	script.WriteString("set -e\n")
	for i, command := range commands {
		if background, ok := strings.CutSuffix(command, "&"); ok {
			command = background + ">>background.out &" // keeps it out of stdout
		}
		fmt.Fprintf(&script, "printf '\\n%s%d\\n'\n%s\n", mark, i, f.keys.Replace(command))
	}
	script.WriteString("wait\n") // the commands must have ended their background processes
	ctx, cancel := context.WithTimeout(t.Context(), readmeLimit)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-c", script.String())
	bash.Dir, bash.Env = f.dir, append(f.env, "PWD="+f.dir)
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killAll := func() error { return syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }
	bash.Cancel, bash.WaitDelay = killAll, 5*time.Second
	var out, errs bytes.Buffer
	bash.Stdout, bash.Stderr = &out, &errs
	err := bash.Run()
	if err != nil && bash.Process != nil {
		_ = killAll() // fails if all have ended
	}
	outputs := make([][]byte, len(commands))
	last := -1
	for line := range bytes.Lines(out.Bytes()) {
		if n, ok := bytes.CutPrefix(line, []byte(mark)); ok {
			last, _ = strconv.Atoi(string(bytes.TrimSpace(n))) // written by this script
		} else if last >= 0 {
			outputs[last] = append(outputs[last], line...)
		}
	}
	if err != nil {
		command := "the start"
		if last >= 0 {
			command = commands[last]
		}
		log, _ := os.ReadFile(filepath.Join(f.dir, "dc-daemon.log")) // missing if the daemon did not start
		t.Fatalf("%s: %v\n%s\ndaemon: %s", command, err, errs.String(), log)
	}
	return outputs
}
