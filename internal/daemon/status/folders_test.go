package status

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hce/dc/internal/daemon/manager/managertest"
)

// Each folder that is written must accept a small file, which does not stay. Little room is a warning: work goes on.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		folder  Folder
		minFree int64
		reason  string // "" for none
		warning string // "" for none
	}{
		{"writable", Folder{"raw_data_dir", dir, true}, 1, "", ""},
		{"not created yet", Folder{"raw_data_dir", filepath.Join(dir, "a", "b"), true}, 1, "", ""},
		{"too little room", Folder{"raw_data_dir", dir, true}, 1 << 62, "", "raw_data_dir " + dir + ": its disk has "},
		{"room does not matter", Folder{"spool_dir", dir, false}, 1 << 62, "", ""},
		{"a file", Folder{"db_path", file, true}, 0, file + " is not a folder", ""},
		{"below a file", Folder{"db_path", filepath.Join(file, "x"), true}, 0, "not a directory", ""},
		{"nothing can be created", Folder{"the log folder", "/proc", false}, 0, "the log folder /proc: ", ""},
	} {
		reasons, warnings := Config{MinFree: tc.minFree, Folders: []Folder{tc.folder}}.checkFolders()
		for want, got := range map[*string][]string{&tc.reason: reasons, &tc.warning: warnings} {
			if *want == "" && len(got) > 0 || *want != "" && (len(got) != 1 || !strings.Contains(got[0], *want)) {
				t.Errorf("%s: %q, want %q", tc.name, got, *want)
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("files stay: %v, %v", entries, err)
	}
}

// A file that cannot grow shows only when it is written: creating it still works.
func TestFolderRefusesData(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1000, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reasons, _ := Config{DataDir: dir}.checkFolders()
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if len(reasons) != 1 || !strings.Contains(reasons[0], "data_dir "+dir) || !strings.Contains(reasons[0], "file too large") {
		t.Errorf("reasons %q", reasons)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("files stay: %v, %v", entries, err)
	}
}

// A queue that pauses after a fault shows its reason everywhere. The daemon is healthy, because a
// restart would not help, but not ready.
func TestPauses(t *testing.T) {
	b := managertest.Bus(t)
	managers(t, b, func(class string) any {
		if class == "A" {
			return map[string]any{"state": "running", "batches_crawl_pause": "disk full"}
		}
		return map[string]any{"state": "running", "batches_process_pause": ""}
	})
	s := start(t, Config{Bus: b, Classes: []string{"A", "B"}})
	s.Running()
	for _, tc := range []struct {
		path   string
		status int
		body   string
	}{
		{"/healthz", http.StatusOK, `{"status":"ok","pauses":{"A":"disk full"}}`},
		{"/readyz", http.StatusServiceUnavailable, `{"status":"not ready","reasons":["A pauses: disk full"]}`},
		{"/metrics", http.StatusOK, `dc_queue_paused{manager="A",queue="crawl",reason="disk full"} 1`},
		{"/metrics", http.StatusOK, `dc_queue_paused{manager="B",queue="process",reason=""} 0`},
	} {
		if status, body := get(t, s, tc.path); status != tc.status || !strings.Contains(body, tc.body) {
			t.Errorf("%s: %d %.3000s, want %s", tc.path, status, body, tc.body)
		}
	}
}
