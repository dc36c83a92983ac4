//go:build e2e

package e2e

import (
	"testing"
	"time"

	"hce/dc/examples/rig"
	"hce/dc/examples/siteserver/site"
)

// withoutProcessing are the managers of a daemon that only crawls.
const withoutProcessing = "AdminInterfaceServer, SitesManager, BatchTasksManager, BatchTasksManagerRealTime, ClientInterfaceService"

// Four documentation packages on four hosts are crawled at once: every page that a
// recursive wget finds is crawled and requested once.
func TestDocumentationHosts(t *testing.T) {
	docs := []struct {
		name, ip, dir string
		least         int // pages at least, to detect an empty folder
		w             *witness
		id            string
		judged        map[string]string
	}{
		{name: "postgresql-doc-15", ip: "127.0.2.1", dir: "postgresql-doc-15/html", least: 1100},
		{name: "python3.11-doc", ip: "127.0.2.2", dir: "python3.11/html", least: 400},
		{name: "apache2-doc", ip: "127.0.2.3", dir: "apache2-doc/manual", least: 200},
		{name: "openjdk-17-doc", ip: "127.0.2.4", dir: "openjdk-17-jre-headless/api", least: 9000},
	}
	// The daemon does not process pages in this test.
	r := start(t, t.TempDir(), "DC_Application_instantiateSequence="+withoutProcessing)
	began := time.Now()
	for i := range docs {
		d := &docs[i]
		d.w = newWitnessAt(t, d.ip, site.Handler(site.Options{Dir: documentation(t, d.dir)}))
		d.id = newSite(t, r, rig.Site{Root: d.w.URL + "/", Properties: refreshIsALink})
	}
	// Meanwhile wget fetches the same folders from other servers.
	t.Run("wget", func(t *testing.T) {
		for i := range docs {
			d := &docs[i]
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				d.judged = judge(t, newWitnessAt(t, d.ip, site.Handler(site.Options{Dir: documentation(t, d.dir)})))
			})
		}
	})
	for _, d := range docs {
		crawled(t, r, d.id)
	}
	took := time.Since(began)
	pages := 0
	for _, d := range docs {
		t.Run(d.name, func(t *testing.T) {
			if len(d.judged) < d.least {
				t.Fatalf("wget found only %d pages", len(d.judged))
			}
			requested := map[string]int{}
			for _, v := range d.w.requests() {
				requested[v.URL]++
			}
			for url, n := range requested {
				if n > 1 && url != "/robots.txt" {
					t.Errorf("%s was requested %d times", url, n)
				}
			}
			compare(t, d.w.URL, d.judged, rows(t, r, d.id))
			pages += len(d.judged)
		})
	}
	t.Logf("%d pages of four hosts in %v", pages, took.Round(time.Second))
}

// crawled waits until the site is crawled.
func crawled(t *testing.T, r *rig.Rig, id string) {
	t.Helper()
	await(t, r, id, r.Crawled)
}
