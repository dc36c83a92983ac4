package dbtask_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/db"
	"hce/dc/internal/dbtask"
	"hce/dc/internal/dc"
	"hce/dc/internal/rawcache"
)

// TestScratch: files of a batch are in its folder alone, and go with it; folders of
// other runs go without it.
func TestScratch(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c := dbtask.Config{DB: db.Config{Path: filepath.Join(dir, "dc.db")}, RawDir: filepath.Join(dir, "raw"), KeyDir: filepath.Join(dir, "kv"), NoSync: true}
	owner, closeStores, err := dbtask.Open(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer closeStores()
	s := dbtask.NewScratch(owner, c)
	if err := s.RemoveOthers("run1"); err != nil {
		t.Errorf("no folder at all: %v", err)
	}
	key := dc.Md5("http://h/")
	for _, folder := range []string{"run1-a", "run1-b", "run2-a"} {
		err := s.PutFiles(ctx, folder, "s", map[string][]dc.File{key: {{Type: dc.ContentRaw, Data: []byte(folder)}, {Type: dc.ContentHeaders, Data: []byte("h")}}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
	}
	raw := func(folder string) string {
		data, err := s.RawContent(ctx, folder, "s", key)
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	if raw("run1-a") != "run1-a" || raw("run1-b") != "run1-b" || raw("run1-c") != "" {
		t.Errorf("contents %q %q %q", raw("run1-a"), raw("run1-b"), raw("run1-c"))
	}
	if data, err := owner.RawContent(ctx, "s", key); len(data) > 0 || err != nil {
		t.Errorf("the node has %q, %v", data, err)
	}
	answer := dc.NewURLContentResponse("http://h/")
	if err := s.AddFiles(ctx, "run1-a", "s", key, dc.MaskRawLast|dc.MaskHeaders, &answer); err != nil || len(answer.RawContents) != 1 || len(answer.Headers) != 1 {
		t.Errorf("files %+v, %v", answer, err)
	}
	if err := s.Remove("run1-a"); err != nil || raw("run1-a") != "" {
		t.Errorf("removed: %q, %v", raw("run1-a"), err)
	}
	if err := s.Remove("run1-a"); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	if err := s.RemoveOthers("run1"); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(c.RawDir, ".realtime"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "run1-b" {
		t.Errorf("left %v, %v", entries, err)
	}
	for _, folder := range []string{"", ".", "..", "a/b", "../s"} {
		put := s.PutFiles(ctx, folder, "s", map[string][]dc.File{key: nil}, time.Now())
		if !errors.Is(put, rawcache.ErrName) || !errors.Is(s.Remove(folder), rawcache.ErrName) || !errors.Is(s.RemoveOthers(folder), rawcache.ErrName) {
			t.Errorf("folder %q is taken: %v", folder, put)
		}
	}
	if got := s.Processed(dc.Entry{Data: []byte(`{"internal":[],"custom":["x"]}`)}, dc.MaskRaw); len(got) != 0 || !slices.Equal(got, []any{}) {
		t.Errorf("processed contents that nobody asked for: %v", got)
	}
}
