package storage_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/storage"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Files of a batch are only in its folder and are removed with it. RemoveOthers removes
// the folders of other runs.
func TestScratch(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c := storage.Config{DB: sqldb.Config{Path: filepath.Join(dir, "dc.db")}, RawDir: filepath.Join(dir, "raw"), KeyDir: filepath.Join(dir, "kv"), NoSync: true}
	repo, closeStores, err := storage.Open(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer closeStores()
	s := storage.NewScratch(repo, c)
	if err := s.RemoveOthers("run1"); err != nil {
		t.Errorf("no folder at all: %v", err)
	}
	key := wire.Md5("http://h/")
	for _, folder := range []string{"run1-a", "run1-b", "run2-a"} {
		err := s.PutFiles(ctx, folder, "s", map[string][]wire.File{key: {{Type: wire.ContentRaw, Data: []byte(folder)}, {Type: wire.ContentHeaders, Data: []byte("h")}}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
	}
	raw := func(folder string) string {
		data, err := s.RawContent(ctx, folder, "s", key, wire.ContentRaw)
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	if raw("run1-a") != "run1-a" || raw("run1-b") != "run1-b" || raw("run1-c") != "" {
		t.Errorf("contents %q %q %q", raw("run1-a"), raw("run1-b"), raw("run1-c"))
	}
	if data, err := repo.RawContent(ctx, "s", key, wire.ContentRaw); len(data) > 0 || err != nil {
		t.Errorf("the node stores %q, %v", data, err)
	}
	answer := wire.NewURLContentResponse("http://h/")
	if err := s.AddFiles(ctx, "run1-a", "s", key, wire.MaskRawLast|wire.MaskHeaders, &answer); err != nil || len(answer.RawContents) != 1 || len(answer.Headers) != 1 {
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
		put := s.PutFiles(ctx, folder, "s", map[string][]wire.File{key: nil}, time.Now())
		if !errors.Is(put, rawfiles.ErrName) || !errors.Is(s.Remove(folder), rawfiles.ErrName) || !errors.Is(s.RemoveOthers(folder), rawfiles.ErrName) {
			t.Errorf("folder %q is accepted: %v", folder, put)
		}
	}
	if got, _ := s.Processed(wire.Entry{Data: []byte(`{"internal":[],"custom":["x"]}`)}, wire.MaskRaw); len(got) != 0 || !slices.Equal(got, []any{}) {
		t.Errorf("processed contents without a bit in the mask: %v", got)
	}
}
