//go:build e2e

package e2e

import (
	"bufio"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// hce-webserver serves the documentation of Debian's package, indexes it for its Web Store by one
// handshake, and sends nothing in the second run. Each file is stored once, each page with its title
// and code; downloads have the md5 of the table.
func TestWebServerDocumentation(t *testing.T) {
	served := documentation(t, "postgresql-doc-15/html")
	ports, data := freePorts(t, 3), t.TempDir()
	env := append(os.Environ(), "DC_WebServer_folder="+served, fmt.Sprint("DC_WebServer_port=", ports[0]), fmt.Sprint("DC_Crawler_port_step=", ports[1]-ports[0]), "DC_Crawler_pause=0", "DC_Crawler_max_hosts=0",
		fmt.Sprint("DC_Crawler_web_store=127.0.0.1:", ports[2]), fmt.Sprint("DC_WebStore_port=", ports[2]))
	storeLog, stopStore := webServerProgram(t, env, "store", "--data", data)
	log, stop := webServerProgram(t, env, "serve", "--data", data)
	for run := range 2 {
		crawlHere(t, ports[1])
		testwait.Until(t, "the crawler ends", func() bool { return log.Count("crawler ends") == run+1 })
	}
	files := servedFiles(t, served)
	if log.Count("crawler ends", fmt.Sprintf("new=%d ", len(files))) != 1 || log.Count("crawler ends", fmt.Sprintf("unchanged=%d new=0 updated=0 repeated=0 refused=0 removed=0 failed=0", len(files))) != 1 {
		t.Errorf("%d files; %s", len(files), lastLines(log.String()))
	}
	base := fmt.Sprintf("http://127.0.0.1:%d/", ports[0])
	table := exec.Command(filepath.Join(bin, "hce-webserver"), "ctl", "files", "--json", "--data", data)
	table.Env = env
	out, err := table.Output()
	if err != nil {
		t.Fatal(err)
	}
	var sums []struct{ URL, MD5 string }
	if err := json.Unmarshal(out, &sums); err != nil || len(sums) != len(files) {
		t.Fatalf("%d entries, %v", len(sums), err)
	}
	for i, s := range sums {
		name := strings.TrimPrefix(s.URL, base)
		if files[name] != s.MD5 {
			t.Errorf("%s: md5 %s in the table, %s of the file", name, s.MD5, files[name])
		}
		if i%25 == 0 && download(t, s.URL) != s.MD5 {
			t.Errorf("%s: other bytes", s.URL)
		}
	}
	stop()
	stopStore()
	checkDocuments(t, filepath.Join(data, "webstore/documents.jsonl"), len(files))
	if storeLog.Count("outcome=new") != len(files) {
		t.Error(lastLines(storeLog.String()))
	}
}

// webServerProgram starts hce-webserver and waits until it runs. stop stops it in order.
func webServerProgram(t *testing.T, env []string, args ...string) (log *testlog.Recorder, stop func()) {
	t.Helper()
	log = &testlog.Recorder{}
	c := exec.Command(filepath.Join(bin, "hce-webserver"), args...)
	c.Env, c.Stderr = env, log
	ended, err := childprocess.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	testwait.Until(t, "hce-webserver runs", func() bool { return log.Count(" runs ") > 0 })
	return log, func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("%v: %v\n%s", args, err, lastLines(log.String()))
		}
	}
}

func crawlHere(t *testing.T, port int) {
	t.Helper()
	testwait.Until(t, "a crawler is accepted", func() bool {
		ok, err := handshake.Ask(t.Context(), (&net.Dialer{}).DialContext, fmt.Sprintf("127.0.0.1:%d", port))
		return ok && err == nil
	})
}

// servedFiles returns the md5 of each file of a folder.
func servedFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		sums[name] = fmt.Sprintf("%x", md5.Sum(b))
		return err
	})
	if err != nil || len(sums) < 1100 {
		t.Fatalf("%d files, %v", len(sums), err)
	}
	return sums
}

func download(t *testing.T, url string) (sum string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	h := md5.New()
	if _, err := io.Copy(h, r.Body); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func checkDocuments(t *testing.T, path string, want int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	urls, pages := map[string]bool{}, 0
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var r webstore.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if urls[r.URL] {
			t.Errorf("%s is stored twice", r.URL)
		}
		urls[r.URL] = true
		if r.Kind == packet.Page {
			pages++
			if r.Title == "" || r.HTML == "" {
				t.Errorf("%s has no title or no code", r.URL)
			}
		}
	}
	if len(urls) != want || pages < 1100 {
		t.Errorf("%d documents, %d of them pages; want %d", len(urls), pages, want)
	}
}

func lastLines(text string) string { return text[max(0, len(text)-2000):] }
