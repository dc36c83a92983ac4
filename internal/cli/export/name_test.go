package export

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The name of an output says its format; what contradicts it is refused with what to do.
func TestChoose(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := errors.Join(os.Mkdir("there", 0o755), os.Mkdir("there.csv", 0o755), os.WriteFile("file", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, out, want, says string }{
		{"", "", "jsonl", ""},
		{"csv", "", "csv", ""},
		{"", "x.jsonl", "jsonl", ""},
		{"", "x.ndjson", "jsonl", ""},
		{"", "x.json", "jsonl", ""},
		{"", "a.b/X.CSV", "csv", ""},
		{"", "x.parquet", "parquet", ""},
		{"", "x.warc", "warc", ""},
		{"", "x.warc.gz", "warc", ""},
		{"", "x.wacz", "wacz", ""},
		{"", "sitemap.xml", "sitemap", ""},
		{"", "there", "md", ""},
		{"", "there.csv", "md", ""},
		{"", "new/", "md", ""},
		{"", "new.csv/", "md", ""},
		{"", "x", "jsonl", ""},
		{"", "file", "jsonl", ""},
		{"", "/dev/null", "jsonl", ""},
		{"", "x.txt", "", "the ending .txt means no format"},
		{"", "x.parqet", "", "did you mean .parquet?"},
		{"", "x.csv.gz", "", "only .warc.gz is compressed by hce; name it x.csv"},
		{"", "x.gz", "", "only .warc.gz"},
		{"csv", "x.txt", "csv", ""},
		{"jsonl", "x.json", "jsonl", ""},
		{"csv", "x.csv", "csv", ""},
		{"csv", "x.parquet", "", "is the name of a file of format parquet, and --format is csv"},
		{"jsonl", "x.warc.gz", "", "format warc, and --format is jsonl"},
		{"wacz", "x.warc.gz", "", "format warc, and --format is wacz"},
		{"csv", "x.csv.gz", "", "only .warc.gz"},
		{"warc", "x.gz", "warc", ""},
		{"warc", "x.zst", "", "only .warc.gz"},
		{"md", "x.csv", "", "is the name of a file, and format md writes a folder"},
		{"md", "x.md", "md", ""},
		{"files", "example.org", "files", ""},
		{"files", "there.csv", "files", ""},
		{"csv", "there", "", "is a folder, and format csv writes a file"},
		{"csv", "there.csv", "", "is a folder, and format csv writes a file"},
		{"csv", "new/", "", "is a folder"},
		{"xls", "x.csv", "", `format "xls" is not one of`},
	} {
		t.Run(c.format+" "+c.out, func(t *testing.T) {
			f, err := Choose(c.format, c.out)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s, %v, want %q", f.Name, err, c.says)
				}
			} else if err != nil || f.Name != c.want {
				t.Errorf("%s, %v, want %s", f.Name, err, c.want)
			}
		})
	}
}

// An output that cannot be written is found before the work, and the look leaves nothing.
func TestCheckOut(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	err := errors.Join(os.WriteFile("full.csv", []byte("x"), 0o644), os.WriteFile("empty.csv", nil, 0o644), os.WriteFile("begun.csv", []byte("x"), 0o644),
		os.WriteFile("begun.csv"+StateSuffix, []byte("{}"), 0o644), os.MkdirAll("full/x", 0o755), os.Mkdir("empty", 0o755))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, out, says string }{
		{"csv", "", ""}, {"csv", "new.csv", ""}, {"csv", "empty.csv", ""}, {"csv", "begun.csv", ""}, {"csv", "/dev/null", ""},
		{"md", "new", ""}, {"md", "new/below", ""}, {"md", "empty", ""},
		{"csv", "full.csv", "it exists"}, {"csv", "none/x.csv", "the folder none does not exist; create it first"},
		{"csv", "full", "writes a file, which it is not"}, {"csv", "full.csv/x.csv", "not a directory"},
		{"md", "full", "it exists"}, {"md", "full.csv", "writes a folder, which it is not"}, {"md", "/proc/x", "cannot be written"}, {"csv", "/proc/x.csv", "/proc/x.csv cannot be written"},
	} {
		f, err := Find(c.format)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckOut(t.Context(), Job{Format: f, Out: c.out}); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v, want %q", c.format, c.out, err, c.says)
		}
	}
	var names []string
	if err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error { names = append(names, path); return err }); err != nil || len(names) != 8 {
		t.Errorf("%q %v", names, err)
	}
}
