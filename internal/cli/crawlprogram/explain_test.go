package crawlprogram

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
)

func TestMain(m *testing.M) { clitest.Main(m, func() { os.Exit(Main()) }) }

const siteID = "0123456789abcdef0123456789abcdef"

// newData makes a data folder with one site.
func newData(t *testing.T, site string) string {
	t.Helper()
	folder := t.TempDir()
	stores, err := config.Load(filepath.Join("..", "..", "..", "ini", "db-task.ini"))
	if err != nil {
		t.Fatal(err)
	}
	repo, end, err := storage.Open(t.Context(), storage.ReadConfig(stores, folder), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	answer, err := storage.Job{Repository: repo}.Run(t.Context(), json.RawMessage(`["SITE_NEW", `+site+`]`))
	if text, _ := json.Marshal(answer); err != nil || !strings.Contains(string(text), `"errorCode":0`) {
		t.Fatal(err, string(text))
	}
	return folder
}

// program runs crawler-task with the shipped ini files and that data folder.
func program(t *testing.T, folder string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	c := clitest.Command(t, "", append([]string{"-c", filepath.Join("..", "..", "..", "ini", "crawler-task.ini")}, args...)...)
	c.Env = append(c.Env, "DC_Application_data_dir="+folder, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8")
	return clitest.Output(t, c)
}

// keys returns the paths of all members of a JSON value, except those inside "headers".
func keys(prefix string, value any) []string {
	var list []string
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			path := strings.TrimPrefix(prefix+"."+name, ".")
			list = append(list, path)
			if name != "headers" {
				list = append(list, keys(path, v)...)
			}
		}
	case []any:
		for _, v := range value {
			list = append(list, keys(prefix, v)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// files returns the contents of the files below folder by name, except the logs, the host
// gates and the SQLite database.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		if d.IsDir() {
			if name == "log" || name == "dc_hosts" {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasPrefix(name, "dc.db") {
			return nil
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Tools rely on the keys of the answer, and --explain stores nothing.
func TestExplain(t *testing.T) {
	var mu sync.Mutex
	var requested []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requested = append(requested, r.URL.Path)
		mu.Unlock()
		http.SetCookie(w, &http.Cookie{Name: "set", Value: "1", MaxAge: 1000})
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\nSitemap: /map.xml")
		case "/":
			http.Redirect(w, r, "/home", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/next">x</a>`)
		}
	}))
	t.Cleanup(s.Close)
	site, err := json.Marshal(map[string]any{
		"id": siteID, "urls": []string{s.URL + "/"}, "requestDelay": 0,
		"filters": []map[string]any{{"pattern": "(.*)", "type": 1}},
		"properties": map[string]string{
			"HTTP_HEADERS":     `{"Accept-Language": ["a", "b"]}`,
			"HTTP_FREQ_LIMITS": `{".*": {"max_freq": 100, "max_delay": 0}}`,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := newData(t, string(site))
	before := files(t, folder)
	run := func(t *testing.T, args ...string) (answer map[string]any, text string) {
		t.Helper()
		stdout, stderr, status := program(t, folder, args...)
		if status != 0 || stderr != "" {
			t.Fatalf("status %d: %s", status, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		return answer, stdout
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "explain.keys"))
	if err != nil {
		t.Fatal(err)
	}
	answer, first := run(t, "--explain", s.URL+"/", "--fetch")
	if got := strings.Join(keys("", answer), "\n") + "\n"; got != string(golden) {
		t.Errorf("keys:\n%s", got)
	}
	for _, want := range []string{`"due": true`, `"Accept-Language"`, `"/map.xml"`, `"httpCode": 200`, s.URL + "/next", s.URL + "/home"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %s in %s", want, first)
		}
	}
	mu.Lock()
	if want := []string{"/robots.txt", "/", "/home"}; !slices.Equal(requested, want) {
		t.Errorf("requested %q", requested)
	}
	requested = nil
	mu.Unlock()

	t.Run("without --fetch", func(t *testing.T) {
		answer, _ := run(t, "--explain", s.URL+"/closed")
		if answer["fetch"] != nil || answer["due"] != false || answer["row"] != nil {
			t.Errorf("%v", answer)
		}
		if answer["robots"].(map[string]any)["line"] != "line 2: Disallow: /closed" {
			t.Errorf("%v", answer["robots"])
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(requested, []string{"/robots.txt"}) {
			t.Errorf("requested %q", requested)
		}
	})
	t.Run("with --site", func(t *testing.T) {
		answer, _ := run(t, "--explain", s.URL+"/", "--site", siteID)
		if answer["site"].(map[string]any)["id"] != siteID {
			t.Errorf("%v", answer["site"])
		}
	})
	for _, tt := range []struct {
		name   string
		args   []string
		reason string
	}{
		{"unknown site", []string{"--explain", s.URL + "/", "--site", "fedcba9876543210fedcba9876543210"}, "SITE_NEW"},
		{"invalid URL", []string{"--explain", "mailto:somebody"}, "http"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, text := run(t, tt.args...)
			if answer["due"] != false || answer["request"] != nil || !strings.Contains(text, tt.reason) {
				t.Error(text)
			}
		})
	}
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"missing value", []string{"--explain"}, "--explain needs a value (URL)"},
		{"invalid site id", []string{"--explain", s.URL, "--site", "../x"}, "--site"},
		{"--site without --explain", []string{"--site", siteID}, "--explain URL"},
		{"--fetch without --explain", []string{"--fetch"}, "--explain URL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, status := program(t, folder, tt.args...)
			if status != 1 || stdout != "" || !strings.Contains(stderr, tt.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("status %d, %q, %q", status, stdout, stderr)
			}
		})
	}

	// Nothing has changed: the next answer equals the first, except for times.
	_, again := run(t, "--explain", s.URL+"/", "--fetch")
	for _, key := range []string{`"status": 1`, `"crawled": 0`, `"Accept-Language": [
        "b"`} {
		if strings.Count(first, key) == 0 || strings.Count(first, key) != strings.Count(again, key) {
			t.Errorf("%s: first\n%s\nthen\n%s", key, first, again)
		}
	}
	after := files(t, folder)
	for name, text := range after {
		if before[name] != text {
			t.Errorf("%s was written: %q", name, text)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, want %d", len(after), len(before))
	}
}
