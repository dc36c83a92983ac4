package storage

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// A fault of the machine is told from a value that cannot be stored.
func TestMachine(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&fs.PathError{Op: "write", Path: "/raw/1.warc", Err: syscall.ENOSPC}, true},
		{syscall.EMFILE, true},
		{fmt.Errorf("lock: %w", syscall.ENOLCK), true},
		{driver.ErrBadConn, true},
		{&fs.PathError{Op: "open", Path: "/raw", Err: fs.ErrPermission}, true},
		{syscall.ENAMETOOLONG, false},
		{errors.New("content is too large"), false},
		{&lenient.FieldError{Object: "URL", Field: "url"}, false},
	} {
		if got := Machine(fmt.Errorf("save: %w", test.err)); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}

// A page whose raw content is on a disk that is away is not given up: the error is critical, and
// the content is there again with the disk.
func TestRawDiskIsAway(t *testing.T) {
	n := withPage(t)
	n.taken()
	n.saved(n.SaveCrawl(t.Context(), site, 7, fetched(n.now, "one", false)))
	segments := filepath.Join(n.raw, ".segments")
	if err := os.Rename(segments, segments+".away"); err != nil {
		t.Fatal(err)
	}
	n.must(n.Raw.Close()) // another process reads
	if data, err := n.RawContent(t.Context(), site, md5, wire.ContentRaw); !task.IsCritical(err) || !Machine(err) {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.Rename(segments+".away", segments); err != nil {
		t.Fatal(err)
	}
	if data, err := n.RawContent(t.Context(), site, md5, wire.ContentRaw); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
}
