//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// run executes a program of bin/ and returns its output and exit status.
func run(t *testing.T, program string, args []string, stdin string, env ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(limited(t), filepath.Join(bin, program), args...)
	return output(t, cmd, stdin, env...)
}

func output(t *testing.T, cmd *exec.Cmd, stdin string, env ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

var programs = []string{"dc-daemon", "dc-client", "dc-admin", "dc-import", "db-task", "crawler-task", "processor-task"}

// A missing or unreadable ini file is reported in one line with exit status 1, by dc-admin
// with 2 (docs/spec/daemon.md 4.3).
func TestUnreadableIniFile(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.ini")
	if err := os.WriteFile(broken, []byte("[TasksManager\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		for name, path := range map[string]string{"missing": broken + ".not", "broken": broken, "a folder": filepath.Dir(broken)} {
			_, stderr, status := run(t, program, []string{"-c", path}, "")
			want := 1
			if program == "dc-admin" {
				want = 2
			}
			if status != want || strings.Count(strings.TrimSpace(stderr), "\n") != 0 || !strings.Contains(stderr, filepath.Base(path)) {
				t.Errorf("%s, %s ini: status %d, stderr %q", program, name, status, stderr)
			}
		}
		stdout, stderr, status := run(t, program, []string{"--help"}, "")
		if status != 0 || stderr != "" || !strings.Contains(stdout, "Usage: "+program) || !strings.Contains(stdout, "Exit status") {
			t.Errorf("%s --help: status %d, %d bytes, stderr %q", program, status, len(stdout), stderr)
		}
	}
}

// A wrong request is answered by an error that names the field and the value. Nothing is
// stored and the daemon goes on.
func TestWrongRequests(t *testing.T) {
	data := t.TempDir()
	r := start(t, data)
	if _, err := r.Status(t.Context(), "0"); err != nil { // creates the database
		t.Fatal(err)
	}
	before := number(t, database(t, data), `SELECT count(*) FROM "dc_sites.sites"`)
	cases := []struct {
		name, command, request string
		status                 int
		want                   []string // in the message
	}{
		{"invalid JSON", "SITE_NEW", `{"id": `, 1, []string{"request.json is not JSON"}},
		{"wrong type", "SITE_NEW", `{"id":"abc","maxURLs":"many"}`, 1, []string{"Site.maxURLs", "many"}},
		{"unknown command", "SITE_MAKE", `{}`, 2, []string{"SITE_MAKE"}},
		{"id with a slash", "SITE_NEW", `{"id":"a/b","urls":["http://h/"]}`, 0, []string{"Site.id", "a/b"}},
		{"id with ..", "SITE_NEW", `{"id":"..","urls":["http://h/"]}`, 0, []string{"Site.id", `..`}},
		{"id of 33", "SITE_STATUS", `{"id":"` + strings.Repeat("a", 33) + `"}`, 0, []string{"SiteStatus.id", strings.Repeat("a", 33)}},
		{"md5 with ..", "URL_PUT", `[{"siteId":"0","urlMd5":"../../etc/passwd","contentType":0,"putDict":{"data":"YQ=="}}]`, 0, []string{"urlMd5", "etc/passwd"}},
		{"range", "SITE_UPDATE", `{"id":"0","state":999}`, 1, []string{"SiteUpdate.state", "999", "255"}},
		{"invalid batch", "BATCH", `[1]`, 1, []string{"Batch"}},
		{"batch with .. as site", "BATCH", `{"items":[{"siteId":"../x","urlObj":{"url":"http://h/"}}]}`, 1, []string{"siteId", "../x"}},
		{"forbidden SQL", "URL_FETCH", `[{"urlsCriterions":{"WHERE":"SLEEP(5)"}}]`, 0, []string{"SLEEP"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "request.json")
			if err := os.WriteFile(file, []byte(c.request), 0o600); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			stdout, _, status := run(t, "dc-client", []string{"-c", filepath.Join(ini, "dc-client.ini"), "-cmd", c.command, "-f", file}, "", r.Env()...)
			if status != c.status {
				t.Errorf("exit status %d, want %d", status, c.status)
			}
			if time.Since(began) > 30*time.Second {
				t.Error("the answer took more than 30 s")
			}
			var answer struct {
				ErrorMessage string `json:"error_message"`
				ItemsList    []wire.ClientResponseItem
			}
			if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
				t.Fatalf("%v in %s", err, stdout)
			}
			message := answer.ErrorMessage
			for _, item := range answer.ItemsList {
				message += item.ErrorMessage
				if item.ErrorCode == float64(0) {
					t.Errorf("the item has no error: %s", stdout)
				}
			}
			for _, want := range c.want {
				if !strings.Contains(message, want) {
					t.Errorf("message %q lacks %q", message, want)
				}
			}
		})
	}
	if n := number(t, database(t, data), `SELECT count(*) FROM "dc_sites.sites"`); n != before {
		t.Errorf("%d sites became %d", before, n)
	}
	if _, err := r.Stat(t.Context(), "SitesManager"); err != nil {
		t.Errorf("the daemon does not answer: %v", err)
	}
}

// A second daemon on the same data folder ends with a message that names the folder.
func TestSecondDaemon(t *testing.T) {
	data := t.TempDir()
	start(t, data)
	_, stderr, status := run(t, "dc-daemon", []string{"-c", filepath.Join(ini, "dc-daemon.ini")}, "",
		"DC_Application_data_dir="+data, "DC_ClientInterfaceService_serverPort=0", "DC_AdminInterfaceServer_serverPort=0")
	if status != 1 || !strings.Contains(stderr, data) {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

const batch = `{"id":7,"items":[{"siteId":"%s","urlId":"","urlObj":{"url":"%s","status":1}}]}`

// A full disk ends the task with status 1. No row refers to a missing file.
func TestFullDisk(t *testing.T) {
	w := newWitness(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Write([]byte("<title>Large</title>" + strings.Repeat("<p>Nothing to see here, move along.</p>", 100_000)))
	}))
	data, env := prepared(t, w.URL+"/")
	request := strings.NewReplacer("%s", rig.SiteID(w.URL+"/")).Replace(strings.Replace(batch, `"url":"%s"`, `"url":"`+w.URL+`/"`, 1))
	// The limit of 1 MiB per file is below the size of the page.
	cmd := exec.CommandContext(limited(t), "bash", "-c", `ulimit -f 1024; trap "" XFSZ; exec "$@"`, "-", filepath.Join(bin, "crawler-task"), "-c", filepath.Join(ini, "crawler-task.ini"))
	stdout, stderr, status := output(t, cmd, request, env...)
	if status != 1 || stdout != "" || stderr == "" {
		t.Errorf("status %d, answer %q, stderr %q", status, stdout, stderr)
	}
	d := database(t, data)
	if n := number(t, d, `SELECT count(*) FROM "dc_urls.urls" WHERE Status=4 OR Crawled>0`); n != 0 {
		t.Errorf("%d rows are crawled", n)
	}
	for _, name := range files(t, filepath.Join(data, "dc_rdata")) {
		if info, err := os.Stat(filepath.Join(data, "dc_rdata", name)); err != nil || info.Size() > 0 {
			t.Errorf("file %s: %v, %v", name, info, err)
		}
	}
	// Without the limit the same batch succeeds.
	stdout, stderr, status = run(t, "crawler-task", []string{"-c", filepath.Join(ini, "crawler-task.ini")}, request, env...)
	if status != 0 || !strings.Contains(stdout, `"status":4`) {
		t.Errorf("second run: status %d, answer %.300q, stderr %q", status, stdout, stderr)
	}
}

// A read-only data folder ends each task with status 1.
func TestReadOnlyData(t *testing.T) {
	data, env := prepared(t, "http://127.0.0.1:9/")
	seal(t, data)
	for program, request := range map[string]string{
		"crawler-task":   strings.NewReplacer("%s", rig.SiteID("http://127.0.0.1:9/")).Replace(strings.Replace(batch, `"url":"%s"`, `"url":"http://127.0.0.1:9/"`, 1)),
		"processor-task": `{"id":7,"items":[]}`,
		"db-task":        `["SITE_NEW",{"urls":["http://127.0.0.1:9/x"]}]`,
	} {
		here, err := filepath.Abs(filepath.Join(bin, program))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(limited(t), here, "-c", filepath.Join(ini, program+".ini"))
		unprivileged(t, cmd)
		stdout, stderr, status := output(t, cmd, request, append(env, "DC_Application_log=stderr")...)
		if status != 1 || stdout != "" || !strings.Contains(stderr, program+": ") {
			t.Errorf("%s: status %d, answer %q, stderr %q", program, status, stdout, stderr)
		}
	}
}

// prepared creates a data folder with one site.
func prepared(t *testing.T, root string) (data string, env []string) {
	t.Helper()
	data = t.TempDir()
	env = []string{"DC_Application_data_dir=" + data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8"}
	stdout, stderr, status := run(t, "db-task", []string{"-c", filepath.Join(ini, "db-task.ini")}, `["SITE_NEW",{"urls":["`+root+`"],"requestDelay":0}]`, env...)
	if status != 0 || !strings.Contains(stdout, rig.SiteID(root)) {
		t.Fatalf("status %d, answer %q, stderr %q", status, stdout, stderr)
	}
	return data, env
}

// seal makes a folder read-only for everybody except root, and readable.
func seal(t *testing.T, dir string) {
	t.Helper()
	for parent := dir; parent != filepath.Dir(os.TempDir()); parent = filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && parent != os.TempDir() {
			os.Chmod(parent, info.Mode().Perm()|0o555)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o555)
		}
		return os.Chmod(path, 0o444)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(path, 0o755)
			}
			return nil
		})
	})
}

// unprivileged runs a command as nobody if the test runs as root, which may write everywhere.
func unprivileged(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
