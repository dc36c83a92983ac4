package storage

import (
	"fmt"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// A second run of a processing batch overwrites the content and counts once.
func TestSaveProcessTwice(t *testing.T) {
	n := withPage(t)
	n.good(fmt.Sprintf(`["URL_UPDATE",[{"siteId":%q,"url":%q,"status":4}]]`, site, page))
	for _, text := range []string{"first", "second"} {
		rows, err := n.MarkProcessing(t.Context(), site, 9, []string{md5})
		n.must(err)
		if (len(rows) == 1) != (text == "first") {
			t.Errorf("%s run: %d rows taken", text, len(rows))
		}
		n.must(n.SaveProcess(t.Context(), site, 9, []wire.Extracted{{
			URLMd5: md5, Set: schema.Patch{"Status": int64(wire.StatusProcessed)}, Processed: true,
			Content: []byte(`{"internal":[],"custom":["` + text + `"]}`),
		}}))
	}
	if row := n.row(); row.Status != wire.StatusProcessed || row.Processed != 1 {
		t.Errorf("row %+v", row)
	}
	if list := n.content(1).ProcessedContents; len(list) != 1 {
		t.Errorf("%d contents", len(list))
	}
}
