package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/config"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// inPlaces runs a test for each place of contents, on a node with a page.
func inPlaces(t *testing.T, run func(t *testing.T, n *node)) {
	t.Helper()
	for _, kind := range []string{PlaceFiles, PlaceSQL} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			if kind == PlaceSQL {
				n.Contents = n.Store.Contents()
			}
			n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q],"requestDelay":0}]`, site, root))
			n.good(fmt.Sprintf(`["URL_NEW",[{"siteId":%q,"url":%q,"parentMd5":%q}]]`, site, page, site))
			run(t, n)
			names := filesBelow(t, n.keys)
			if kind == PlaceSQL && len(names) > 0 {
				t.Errorf("files %v", names)
			}
		})
	}
}

func (n *node) stored(id string) bool {
	n.t.Helper()
	_, ok, err := n.Contents.Get(n.t.Context(), site, id)
	n.must(err)
	return ok
}

// URL_CONTENT reads the contents that a client and a batch stored.
func TestStoredContentsAreReadable(t *testing.T) {
	inPlaces(t, func(t *testing.T, n *node) {
		text := `{\"internal\":[],\"custom\":[\"put\"]}`
		n.good(fmt.Sprintf(`["URL_UPDATE",[{"siteId":%q,"url":%q,"status":4,"urlPut":{"siteId":%q,"urlMd5":%q,"contentType":10,"putDict":{"id":%q,"data":"%s"}}}]]`, site, page, site, md5, md5, text))
		if got := fmt.Sprintf("%s", n.content(1).ProcessedContents); !strings.Contains(got, "cHV0") || !strings.Contains(got, "2026-01-05 10:00:00") {
			t.Errorf("contents %s", got)
		}
		for _, text := range []string{"one", "two"} {
			_, err := n.MarkProcessing(t.Context(), site, 9, []string{md5})
			n.must(err)
			n.must(n.SaveProcess(t.Context(), site, 9, []wire.Extracted{{
				URLMd5: md5, Set: schema.Patch{"Status": int64(wire.StatusProcessed)}, Processed: true,
				Content: []byte(`{"internal":[],"custom":["` + text + `"]}`),
			}}))
		}
		if got := n.content(1).ProcessedContents; len(got) != 1 || !strings.Contains(fmt.Sprintf("%s", got), "dHdv") {
			t.Errorf("contents %s", got)
		}
	})
}

func TestContentsAreDeletedWithTheSite(t *testing.T) {
	for _, c := range []struct {
		request string
		kept    bool
	}{
		{`["SITE_CLEANUP",{"id":%q}]`, false},
		{`["SITE_CLEANUP",{"id":%q,"delayedType":0}]`, true},
		{`["SITE_DELETE",{"id":%q}]`, false},
		{`["SITE_DELETE",{"id":%q,"delayedType":0}]`, true},
	} {
		t.Run(c.request, func(t *testing.T) {
			inPlaces(t, func(t *testing.T, n *node) {
				n.fill()
				_, err := n.Contents.PutAll(t.Context(), "other", []wire.Entry{{ID: md5}})
				n.must(err)
				n.good(fmt.Sprintf(c.request, site))
				if n.stored(md5) != c.kept {
					t.Errorf("stored %t, want %t", !c.kept, c.kept)
				}
				if _, ok, err := n.Contents.Get(t.Context(), "other", md5); err != nil || !ok {
					t.Errorf("another site: %t %v", ok, err)
				}
				if c.kept { // a site without a row can lose its contents
					n.must(n.Contents.Delete(t.Context(), site, md5))
					if n.stored(md5) {
						t.Error("cannot be removed")
					}
				}
			})
		})
	}
}

// Contents of deleted rows: left by a killed process, or stored by a late task.
func TestContentsOfDeletedRows(t *testing.T) {
	inPlaces(t, func(t *testing.T, n *node) {
		n.fill()
		_, err := n.Store.SiteDelete(t.Context(), []wire.SiteDeleteRequest{{ID: site, DelayedType: wire.Immediate}}) // the process is killed here
		n.must(err)
		_, err = n.Contents.PutAll(t.Context(), site, []wire.Entry{{ID: md5}})
		n.must(err)
		n.must(n.EmptyTrash(t.Context()))
		if n.stored(md5) {
			t.Error("EmptyTrash kept the content")
		}
		err = n.SaveProcess(t.Context(), site, 9, []wire.Extracted{{URLMd5: md5, Set: schema.Patch{}, Processed: true, Content: []byte("late")}})
		if wire.CodeOf(err) != wire.CodeNotFound || n.stored(md5) {
			t.Errorf("error %v, stored %t", err, n.stored(md5))
		}
	})
}

func TestContentStorageType(t *testing.T) {
	for value, want := range map[string]string{"0": "false", "1": "true", "": "false", "2": "is not one of 0, 1"} {
		t.Run(value, func(t *testing.T) {
			folder := t.TempDir()
			ini := filepath.Join(folder, "db-task.ini")
			if err := os.WriteFile(ini, []byte("[TasksManager]\ncontent_storage_type = "+value+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := config.Load(ini)
			if err != nil {
				t.Fatal(err)
			}
			c := ReadConfig(f, folder)
			got := fmt.Sprint(c.InSQL)
			if err := f.Err(); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, want) || c.KeyDir != filepath.Join(folder, "dc_dbdata") {
				t.Errorf("%s, want %s; %s", got, want, c.KeyDir)
			}
		})
	}
}
