package processprogram

import (
	"testing"

	"hce/dc/internal/cli/clitest"
)

// All elements of the property count, and see what processing found (docs/spec/processing.md 1.2 #19, 1.5
// SQL_EXPRESSION_FIELDS_UPDATE_PROCESSOR, 1.6).
func TestExpressions(t *testing.T) {
	home := t.TempDir()
	pages := madePages("exp.test", 2)
	storePages(t, home, "s", pages, `,"properties":{"SQL_EXPRESSION_FIELDS_UPDATE_PROCESSOR":
		"[{\"URL\":{\"Priority\":{\"IF(%TAGSCOUNT%>0,%STATUS%*10,1)\":0}}},{\"URL\":{\"ETag\":{\"CONCAT(%CONTENTTYPE%, '!')\":1}}},{\"Site\":{\"Priority\":{\"5\":0}}}]"}`)
	if _, stderr, status := clitest.Output(t, refilling(t, home, 2, 3600000)); status != 0 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	repo, closeAll := openStores(t, home)
	defer closeAll()
	for _, row := range rowsOf(t, repo, "s", pages) {
		if row.Priority != 70 || row.ETag != "text/html!" || row.ErrorMask != 0 {
			t.Errorf("priority %d, ETag %q, %v", row.Priority, row.ETag, row.ErrorMask.Names())
		}
	}
	site, err := repo.Site(t.Context(), "s")
	if err != nil || site.Priority != 5 {
		t.Errorf("site %+v, %v", site, err)
	}
}
