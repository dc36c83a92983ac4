package crawler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "md5")
	open := func() *Table {
		table, err := OpenTable(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = table.journal.Close() })
		return table
	}
	table := open()
	for i := range 300 {
		if err := table.Set("http://a/"+fmt.Sprint(i%3), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	want := []Entry{{"http://a/0", "297"}, {"http://a/1", "298"}, {"http://a/2", "299"}}
	if got := open().List(); !slices.Equal(got, want) { // as after a kill
		t.Error(got)
	}
	removed, err := table.Keep(func(url string) bool { return url != "http://a/1" })
	if removed != 1 || err != nil || table.journal.Lines() != 2 {
		t.Errorf("%d removed, %v, %d lines", removed, err, table.journal.Lines())
	}
	if got := open(); got.Sum("http://a/1") != "" || got.Sum("http://a/2") != "299" {
		t.Error(got.List())
	}
	if err := os.WriteFile(path, []byte("{\"url\":\"x\",\"md5\":\"1\"}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTable(path); err == nil || !strings.Contains(err.Error(), "line 2 is damaged") {
		t.Error(err)
	}
}
