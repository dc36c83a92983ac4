package db

import (
	"context"
	"path/filepath"
	"testing"
)

func openTest(t *testing.T, path string) *DB {
	t.Helper()
	d, err := Open(context.Background(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestEveryStatementCanBePrepared(t *testing.T) {
	d := openTest(t, filepath.Join(t.TempDir(), "dc.db"))
	names := d.Statements()
	if len(names) < 20 {
		t.Fatalf("only %d statements", len(names))
	}
	err := d.View(context.Background(), func(tx *Tx) error {
		for _, name := range names {
			text, err := d.Text(name, "0")
			if err != nil {
				t.Error(err)
				continue
			}
			s, err := tx.conn.PrepareContext(context.Background(), text)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				continue
			}
			s.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
