package plaintext

import (
	"strings"
	"testing"

	"hce/dc/internal/files"
)

func TestTable(t *testing.T) {
	tab := Table{Head: []string{"A", " N", "LAST"}}
	tab.AddRow("x\x1b[31m\ny", "5", "end")
	tab.AddRow("a long cell", "12345", "")
	var b strings.Builder
	tab.Print(&b)
	want := "A                N  LAST\nx[31m y          5  end\na long cell  12345\n"
	if got := b.String(); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1500: "1.5 kB", 2e12: "2.0 TB", 3e15: "3000.0 TB"} {
		if got := files.Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got, want := CleanLines("a\x1b[31m\tb\nc\u00a0d\x9b\u202e\xffé"), "a\ufffd[31m\tb\nc\u00a0d\ufffd\ufffd\ufffdé"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Cut("äöüß", 3); got != "äö…" {
		t.Error(got)
	}
}
