//go:build e2e

package e2e

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
)

// planted are texts that may be in the store and in requests, and nowhere else.
var planted = map[string]string{
	"HTTP_AUTH_PWD":      "planted-auth-0e",
	"later password":     "planted-later-auth-1e",
	"HTTP_COOKIE":        "planted-cookie-2e",
	"later cookie":       "planted-later-cookie-3e",
	"X-Api-Key":          "planted-apikey-4e",
	"proxy password":     "planted-proxy-5e",
	"form field":         "planted-form-6e",
	"cookie of a server": "planted-session-7e",
	"userinfo":           "planted-userinfo-8e",
	"database password":  "planted-db-9e",
	"template":           "planted-template-ae",
	"NATS token":         "planted-nats-be",
	"broken header":      "planted-broken-ce",
}

// leaks looks for planted texts in outputs, and for others that only this test knows, by what they are.
type leaks struct {
	*testing.T
	more map[string]string
}

// in fails the test if a text has a planted one, as it is or as requests have it.
func (l leaks) in(where, text string) {
	l.Helper()
	all := maps.Clone(planted)
	maps.Copy(all, l.more)
	for name, secret := range all {
		forms := []string{secret, url.QueryEscape(secret)}
		for _, user := range []string{"user:", "someone:"} {
			forms = append(forms, base64.StdEncoding.EncodeToString([]byte(user+secret)))
		}
		if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) }) {
			l.Errorf("%s: the planted %s", where, name)
		}
	}
}

// below looks into all files of a folder, and into what they pack.
func (l leaks) below(folder string) {
	l.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		l.in(path, string(text)+unpacked(text))
		return err
	})
	if err != nil || files == 0 {
		l.Fatalf("%s: %d files, %v", folder, files, err)
	}
}

// unpacked returns the contents of a file of gzip or zip, "" of another.
func unpacked(file []byte) string {
	var b strings.Builder
	if z, err := gzip.NewReader(bytes.NewReader(file)); err == nil {
		_, _ = io.Copy(&b, z)
	}
	if z, err := zip.NewReader(bytes.NewReader(file), int64(len(file))); err == nil {
		for _, entry := range z.File {
			if r, err := entry.Open(); err == nil {
				text, _ := io.ReadAll(r)
				b.WriteString(string(text) + unpacked(text))
			}
		}
	}
	return b.String()
}

// arguments looks into the arguments of all processes but those of the program that has them from the test.
func (l leaks) arguments() {
	l.Helper()
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		words := strings.Split(string(text), "\x00")
		if name := filepath.Base(words[0]); name != "hce" {
			l.in("the arguments of "+name, strings.Join(words, " "))
		}
	}
}

// Passwords, cookies, keys and forms are in the store and in requests, and in no output, log, metric, export or
// list of arguments.
func TestSecrets(t *testing.T) {
	l := leaks{T: t}
	received := map[string]bool{} // planted texts that a server received: the test would prove nothing without them
	w := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, password, _ := r.BasicAuth()
		proxy, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic "))
		sent := fmt.Sprint(password, r.Header, string(body), r.URL, string(proxy))
		for name, secret := range planted {
			received[name] = received[name] || strings.Contains(sent, secret)
		}
		l.arguments()
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: planted["cookie of a server"], Path: "/"})
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/there.html", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Page %[1]s</title><p>The text of %[1]s is long enough to be the article of this page, and no other page has it.</p><a href=/next.html>next</a> <a href=/moved>moved</a> <form method=post action=/form><input name=q><input type=submit></form>", r.URL.Path)
	}))
	data, out := filepath.Join(t.TempDir(), "node"), t.TempDir()
	root := w.URL + "/"
	run := func(status int, args ...string) {
		t.Helper()
		stdout, stderr := hce(t, status, append(args, "--data", data)...)
		l.in("hce "+strings.Join(args[:min(3, len(args))], " "), stdout+stderr)
	}
	settings := func(password, cookie string) []string {
		return []string{
			"--property", "HTTP_AUTH_NAME=user", "--property", "HTTP_AUTH_PWD=" + password, "--property", "HTTP_COOKIE=a=" + cookie,
			"--header", "X-Api-Key: " + planted["X-Api-Key"], "--property", "HTTP_POST_FORM_q=" + planted["form field"], "--property", "COLLECT_POST_DATA=1",
			"--proxy", "http://someone:" + planted["proxy password"] + "@" + strings.TrimPrefix(w.URL, "http://"),
		}
	}
	first := settings(planted["HTTP_AUTH_PWD"], planted["HTTP_COOKIE"])
	later := settings(planted["later password"], planted["later cookie"])
	crawl := []string{"crawl", root, loopback, "--delay", "0s", "--show-request"}

	run(2, "crawl", "http://someone:"+planted["userinfo"]+"@127.0.0.1/", loopback)
	run(2, append(crawl, "--property", `USER_PROXY={"proxies":{"p":{"host":"`+planted["proxy password"])...)
	run(2, append(crawl, "--property", "HTTP_HEADERS="+planted["broken header"])...)
	run(2, append(crawl, "--property", "HTTP_PROXY_HOST=http://someone:"+planted["proxy password"]+"@host:31x28")...)
	run(0, append(crawl, first...)...)
	run(2, append(crawl, later...)...)
	run(0, append([]string{"site", "edit", root, "--show-request"}, later[:6]...)...)
	run(0, "site", "recrawl", root, "--full")
	run(0, "crawl", wire.Md5(root), loopback, "--show-request")
	run(0, "crawl", w.URL+"/template.html", loopback, "--delay", "0s", "--depth", "0", "--property", "URL_TEMPLATE_REGULAR="+w.URL+"/cache?key="+planted["template"]+"&u=%URL%")
	for _, secret := range []string{"HTTP_AUTH_PWD", "later password", "HTTP_COOKIE", "later cookie", "X-Api-Key", "proxy password", "form field", "cookie of a server", "template"} {
		if !received[secret] {
			t.Errorf("no server received the planted %s", secret)
		}
	}
	for _, site := range []string{root, w.URL + "/template.html"} {
		run(0, "site", "show", site)
		run(0, "site", "show", site, "--json")
		run(0, "page", site, "--headers")
		run(0, "page", site, "--headers", "--version", "1")
		run(0, "page", site, "--json")
		run(0, "url", "show", site, "--json", "--referrers")
		run(0, "url", "ls", site, "--json")
		run(0, "url", "history", site, "--json")
		run(0, "explain", site, loopback, "--fetch", "--json")
		run(0, "explain", site, loopback, "--fetch")
		for _, format := range []string{"jsonl", "csv", "parquet", "md", "files", "sitemap", "warc", "wacz"} {
			run(0, "export", site, "--format", format, "--all", "--out", filepath.Join(out, wireName(site)+"."+format))
		}
		run(0, "export", site, "--format", "warc", "--out", filepath.Join(out, wireName(site)+".warc.gz"))
	}
	run(0, "site", "ls", "--json")
	run(0, "status", "--json")
	l.below(out)
	l.below(filepath.Join(data, "data", "log"))
}

// Passwords of ini files and the environment are in no message, whatever is wrong with them.
func TestSecretsOfSettings(t *testing.T) {
	l, folder, asked := leaks{T: t}, t.TempDir(), 0
	run := func(env []string, program string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		path, err := filepath.Abs(filepath.Join(bin, program))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, path, append([]string{"-c", filepath.Join(ini, program+".ini")}, args...)...)
		cmd.Env = append(append(os.Environ(), "DC_Application_data_dir="+folder, "DC_TasksManager_data_dir="+folder), env...)
		cmd.Stdin = strings.NewReader(`["SITE_STATUS",{"id":"x"}]`)
		text, err := cmd.CombinedOutput()
		if err != nil {
			asked++
		}
		l.in(fmt.Sprint(env, program, args), string(text))
	}
	for _, dsn := range []string{"hce:%s@tcp(127.0.0.1:1)/", "hce:%s@tcp(127.0.0.1:1/", "hce:%s@host", "%s", "hce:%s/@unix(/nowhere)/?x=%%", "mysql://hce:%s@127.0.0.1:1/"} {
		env := []string{"DC_TasksManager_db_driver=mysql", "DC_TasksManager_db_dsn=" + fmt.Sprintf(dsn, planted["database password"])}
		run(env, "db-task")
		run(env, "db-task", "--check-config")
	}
	env := []string{"DC_TasksManager_db_driver=mysql", "DC_TasksManager_db_port=1", "DC_TasksManager_db_pwd=" + planted["database password"]}
	for _, args := range [][]string{{"db-task"}, {"db-task", "--check"}, {"db-task", "--check-config"}, {"crawler-task"}, {"processor-task"}, {"processor-task", "--check-config"}} {
		run(env, args[0], args[1:]...)
	}
	for _, address := range []string{"nats://%s@127.0.0.1:1", "tls://someone:%s@127.0.0.1:1", "nats://%s@127.0.0.1:x"} {
		env := []string{"DC_Cluster_engine=nats", "DC_Cluster_urls=" + fmt.Sprintf(address, planted["NATS token"])}
		run(env, "dc-daemon", "--check-config")
	}
	if asked < 10 {
		t.Errorf("%d programs failed", asked)
	}
	l.below(folder)
}

// wireName returns a name of a file for a URL.
func wireName(address string) string { return strings.NewReplacer("/", "_", ":", "_").Replace(address) }
