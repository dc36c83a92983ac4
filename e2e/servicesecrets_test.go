//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/testkit/rig"
)

// Values of sites and the keys of a cluster are in no metric, status page, screen, statistic, log or index.
func TestSecretsOfServices(t *testing.T) {
	t.Parallel()
	l := leaks{T: t, more: map[string]string{}}
	received := ""
	w := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		received += fmt.Sprint(password, r.Header)
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: planted["cookie of a server"], Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Beech</title><p>The old beech is long enough to be the article of this page, and no other page has it.</p>")
	}))
	port := freePorts(t, 1)[0]
	c := startCluster(t, rig.Options{Env: []string{fmt.Sprint("DC_StatusServer_StatusPort=", port)}}, "n1")
	id := newSite(t, c.Rig, rig.Site{Root: w.URL + "/", Properties: map[string]string{
		"HTTP_AUTH_NAME": "user", "HTTP_AUTH_PWD": planted["HTTP_AUTH_PWD"], "HTTP_COOKIE": "a=" + planted["HTTP_COOKIE"], "HTTP_HEADERS": "X-Api-Key: " + planted["X-Api-Key"],
	}})
	finish(t, c.Rig, id)
	for _, name := range []string{"HTTP_AUTH_PWD", "HTTP_COOKIE", "X-Api-Key"} {
		if !strings.Contains(received, planted[name]) {
			t.Errorf("the server did not receive the planted %s", name)
		}
	}
	data := filepath.Dir(c.NodeData("n1"))
	l.addKeys(data)
	server := fmt.Sprintf("127.0.0.1:%d", c.ClientPort())
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/"} {
		status, text := page(t, port, path)
		l.in(path, text)
		if path == "/metrics" && (status != 200 || !strings.Contains(text, "dc_")) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	l.ask(c.Rig, "hce", "top --once --json --server "+server, "status --json --server "+server, "site show "+id+" --json --server "+server, "doctor --json --server "+server)
	admin := "-c " + filepath.Join(ini, "dc-admin.ini") + " "
	classes := strings.Join(client.Managers[:5], ",")
	l.ask(c.Rig, "dc-admin", admin+"--cmd STAT", admin+"--cmd GET --classes "+classes+" --fields *", "top "+admin+"--json --count 1 --interval 100ms", "node ls "+admin+"--json")
	index, archive := filepath.Join(t.TempDir(), "index"), filepath.Join(t.TempDir(), "archive")
	l.ask(c.Rig, "hce-search", "index --once --dir "+index+" --server "+server)
	l.ask(c.Rig, "archive", "init "+archive, "crawler --root "+archive+" --interval 0 "+loopback+" "+w.URL+"/", "db query --root "+archive+" --json", "ls --root "+archive)
	l.below(index)
	if err := os.RemoveAll(filepath.Join(archive, "crawler/data/dc_cookies")); err != nil { // the cookies that the crawler sends
		t.Error(err)
	}
	l.below(archive)
	l.logs(data)
	l.arguments()
}

// ask runs a program with each list of arguments, and looks into what it says. Something must be said.
func (l leaks) ask(r *rig.Rig, program string, all ...string) {
	l.Helper()
	for _, args := range all {
		stdout, stderr, status := run(l.T, program, strings.Fields(args), "", r.Env()...)
		l.in(program+" "+args, stdout+stderr)
		if stdout+stderr == "" && status != 0 || status == 2 {
			l.Errorf("%s %s: status %d, %s%s", program, args, status, stdout, stderr)
		}
	}
}

// aSeed is a secret key of the broker of a cluster.
var aSeed = regexp.MustCompile(`\bS[A-Z][A-Z2-7]{56}\b`)

// addKeys adds the secret keys in the files below a folder.
func (l leaks) addKeys(folder string) {
	l.Helper()
	kinds := map[string]int{}
	add := func(kind, path, secret string) {
		kinds[kind]++
		l.more[kind+" of "+path] = secret
	}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, ".db") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "PRIVATE KEY-----") {
			for line := range strings.Lines(string(text)) {
				if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line)); err == nil && len(raw) > 30 {
					add("private key", path, strings.TrimSpace(line))
				}
			}
		} else if pair, err := curvekeys.ReadSecret(path); err == nil {
			add("secret key", path, pair.Secret)
		}
		for _, found := range aSeed.FindAllString(string(text), -1) {
			add("seed", path, found)
		}
		return nil
	})
	if err != nil || kinds["secret key"] == 0 || kinds["seed"] < 2 {
		l.Fatalf("keys below %s: %v, %v", folder, kinds, err)
	}
}

// logs looks into the logs below a folder.
func (l leaks) logs(folder string) {
	l.Helper()
	found := 0
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(path, ".log") && !strings.HasSuffix(path, ".out") {
			return err
		}
		found++
		text, err := os.ReadFile(path)
		l.in(path, string(text))
		return err
	})
	if err != nil || found < 4 {
		l.Fatalf("%s: %d logs, %v", folder, found, err)
	}
}
