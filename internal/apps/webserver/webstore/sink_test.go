package webstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/apps/webserver/webstore/sinktest"
)

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "documents.jsonl")
	sinktest.Run(t, func(t *testing.T) (webstore.Sink, func() error) {
		j, err := webstore.OpenJournal(path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return j, j.Close
	})
}
