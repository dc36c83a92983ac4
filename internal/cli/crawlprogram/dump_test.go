package crawlprogram

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

type echo struct{}

func (echo) Run(_ context.Context, request json.RawMessage) (any, error) {
	if string(request) == `{"id":9}` {
		return nil, errors.New("invalid batch")
	}
	return map[string]bool{"done": true}, nil
}

func TestDump(t *testing.T) {
	dir := t.TempDir()
	d := dumped{Job: echo{}, prefix: filepath.Join(dir, "x-"), log: slog.New(slog.DiscardHandler)}
	for _, request := range []string{`{"id":7}`, `{"id":"../8"}`, `[]`, `{"id":9}`} {
		_, _ = d.Run(t.Context(), json.RawMessage(request))
	}
	for name, want := range map[string]string{
		"x-crawler.in.7": `{"id":7}`, "x-crawler.out.7": `{"done":true}`, "x-crawler.in.9": `{"id":9}`,
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 3 {
		t.Errorf("files %q", files)
	}
	d.prefix = filepath.Join(dir, "none", "x")
	if _, err := d.Run(t.Context(), json.RawMessage(`{"id":7}`)); err != nil {
		t.Error(err)
	}
}
