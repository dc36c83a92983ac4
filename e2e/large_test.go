//go:build e2e

package e2e

import (
	"path/filepath"
	"regexp"
	"testing"

	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/testkit/rig"
)

// withoutProcessing are the managers of a daemon that only crawls.
const withoutProcessing = "AdminInterfaceServer, SitesManager, BatchTasksManager, BatchTasksManagerRealTime, ClientInterfaceService"

// A large documentation is crawled by a daemon that processes nothing: every page that a recursive
// wget finds is crawled and requested once. TestDocumentationIsComplete crawls several hosts at once.
func TestLargeDocumentation(t *testing.T) {
	const first = "module-summary.html"
	handler := site.Handler(site.Options{Dir: filepath.Join(documentation(t, "openjdk-17-jre-headless/api"), "java.base")})
	r := start(t, t.TempDir(), "DC_Application_instantiateSequence="+withoutProcessing)
	w := newWitness(t, handler)
	// A meta refresh is a link, like for wget. As a redirect, its target would be requested twice: for
	// the page and for itself.
	id := newSite(t, r, rig.Site{Root: w.URL + "/" + first, Filter: "^" + regexp.QuoteMeta(w.URL+"/"), Properties: map[string]string{"HTML_REDIRECTS_MAX": "0"}})
	judged := judge(t, newWitness(t, handler), first) // meanwhile, from another server
	await(t, r, id, r.Crawled)
	if len(judged) < 2000 {
		t.Fatalf("wget found only %d pages", len(judged))
	}
	w.eachOnce(t)
	compare(t, w.URL, judged, rows(t, r, id))
}
