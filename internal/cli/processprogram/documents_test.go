package processprogram

import (
	"context"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/process/document/documenttest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// PDF, DOCX and plain text become processed contents; what nothing reads is marked.
// docs/spec/processing.md 1.9 #34, #35, 6.1 #12.
func TestDocuments(t *testing.T) {
	home := t.TempDir()
	pdf := documenttest.PDF("Tides", "The moon pulls the sea twice a day.")
	const site = "http://docs.test/"
	pages := map[string][]byte{
		site + "a.pdf":    pdf,
		site + "b.bin":    pdf,
		site + "c.docx":   documenttest.DOCX("Tides", "The moon pulls the sea twice a day."),
		site + "d.txt":    []byte("Tides\n\nThe moon pulls the sea twice a day."),
		site + "e.pdf":    []byte("<html><title>Tides</title><p>The moon pulls the sea twice a day."),
		site + "cut.docx": documenttest.DOCX("Tides", "The moon")[:200],
		site + "f.png":    []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
		site + "g.bin":    []byte("\x00\x01\x02"),
	}
	storePages(t, home, "s", pages)
	c := refilling(t, home, 2, 3600000)
	c.Env = append(c.Env, "DC_Application_log=stderr")
	if _, stderr, status := clitest.Output(t, c); status != 0 || !strings.Contains(stderr, "image/png") {
		t.Fatalf("status %d, %s", status, stderr)
	}
	repo, closeAll := openStores(t, home)
	defer closeAll()
	bits := map[string]errormask.Mask{"cut.docx": errormask.RawDecoding, "f.png": errormask.UnsupportedType, "g.bin": errormask.UnsupportedType}
	for md5, row := range rowsOf(t, repo, "s", pages) {
		want := bits[strings.TrimPrefix(row.URL, site)]
		entry, stored, err := repo.Contents.Get(context.Background(), "s", md5)
		if err != nil {
			t.Fatal(err)
		}
		if row.Status != wire.StatusProcessed || row.ErrorMask != want || stored != (want == 0) || (row.TagsCount == 0) == stored {
			t.Errorf("%s: status %d, %v, stored %v, %d tags", row.URL, row.Status, row.ErrorMask.Names(), stored, row.TagsCount)
		}
		text, err := result.Expand(entry.Data)
		if err != nil || stored && (!strings.Contains(string(text), "The moon pulls the sea twice a day.") || !strings.Contains(string(text), `"Tides"`)) {
			t.Errorf("%s: %s %v", row.URL, text, err)
		}
	}
}
