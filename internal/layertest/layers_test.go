package layertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "hce/dc/"

// row is the place of each group of packages below internal/ in the drawing.
var row = map[string]int{
	"files":        0,
	"childprocess": 0,
	"keyset":       0,
	"manual":       0,
	"places":       0,
	"testgolden":   0,
	"testlog":      0,
	"testrelay":    0,
	"testwait":     0,
	"warc":         0,
	"wire":         0,
	"web":          1, "config": 1, "task": 1, "pseudoterminal": 1, "frontier": 1,
	"storage": 2, "crawl": 2, "process": 2,
	"daemon":  3,
	"cli":     4,
	"archive": 5, "ose": 5, "webserver": 5, "engine": 5, "api": 5,
	"search":    6,
	"layertest": 7, "rig": 7,
}

// urlParsers are the files that may call url.Parse: they read addresses that are no pages, such as those of
// proxies and services, or text before it is canonical. All others use canonical.Net or canonical.Split.
var urlParsers = []string{
	"cli/client", "cli/objectstore/client.go", "cli/sitespec/sitespec.go", "crawl/browser/macrorun.go", "crawl/browser/upstream.go", "crawl/fetch/proxy.go", "crawl/fetch/target.go",
	"archive/client/client.go", "daemon/broker/brokertest/relay.go", "canonical/net.go",
}

// dialers are the files that may open connections by themselves. All others go through the egress guard of
// crawl/fetch, which lets a crawler reach public addresses and allowed networks only.
var dialers = map[string]string{
	"crawl/fetch/":                 "the guard itself",
	"crawl/browser/macrorun.go":    "with the dialer of the guard",
	"crawl/browser/proxy.go":       "with the dialer of the guard",
	"crawl/browser/upstream.go":    "to the proxy, over a connection of the guard",
	"archive/client/client.go":     "to the archive server that the user names",
	"cli/client/server.go":         "to the daemon that the user names",
	"cli/subcommand/session.go":    "to the daemon of this machine",
	"cli/doctor/doctormachine.go":  "to the ports and proxies that hce doctor checks",
	"cli/node/faults.go":           "to the status port of the daemon of this machine",
	"webserver/control/control.go": "to a socket of this machine",
	"webserver/program/run.go":     "to the Web Store that the operator names",
	"places/placestest/":           "a helper of tests",
	"testrelay/":                   "a helper of tests", "storage/sqldb/mariadbtest/": "a helper of tests",
}

var aDial = regexp.MustCompile(`\b(net\.Dial|net\.Dialer|tls\.Dial|tls\.Dialer|DialContext|DialTimeout|http\.(Get|Post|Head|PostForm|DefaultClient))\b`)

// TestConnectionsPassTheGuard: a new way out of a program is decided here.
func TestConnectionsPassTheGuard(t *testing.T) {
	for _, dir := range productFolders() {
		checkDials(t, dir)
	}
}

func checkDials(t *testing.T, dir string) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name := fileName(path)
		for known := range dialers {
			if strings.HasPrefix(name, known) {
				return nil
			}
		}
		text, err := os.ReadFile(path)
		if m := aDial.Find(text); m != nil {
			t.Errorf("%s has %s: connect by crawl/fetch.Client, or say in dialers why not", name, m)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestURLsAreParsedOnce forbids url.Parse of canonical URLs, which it does not always accept.
func TestURLsAreParsedOnce(t *testing.T) {
	for _, dir := range productFolders() {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name := fileName(path)
			if isTestKit(filepath.ToSlash(path)) {
				return nil
			}
			if slices.ContainsFunc(urlParsers, func(known string) bool { return name == known || strings.HasPrefix(name, known+"/") }) {
				return nil
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "url.Parse(") || strings.Contains(string(text), "url.ParseRequestURI(") {
				t.Errorf("%s calls url.Parse, which refuses some canonical URLs: use canonical.Net or canonical.Split", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// arrows lists, for each package, its imports inside its own group. The package that
// has the group's name needs no entry.
var arrows = map[string][]string{
	"wire/cluster":          {"wire", "wire/errormask", "wire/lenient", "wire/placement", "wire/urlkey"},
	"wire/counting":         {"wire/errormask"},
	"wire/lenient":          {"wire/schema"},
	"wire/merge":            {"wire", "wire/errormask", "wire/lenient", "wire/schema"},
	"wire/result":           {"wire/prop", "wire/zpack"},
	"wire/property":         {"wire", "wire/lenient", "wire/prop", "wire/secret"},
	"wire/realtimeresponse": {"wire", "wire/errormask", "wire/result", "wire/schema"},

	"web/xpath":     {"web/treesize"},
	"web/loosexml":  {"web/charset"},
	"web/content":   {"web/canonical", "web/dates", "web/pdate", "web/pyregexp"},
	"web/datetext":  {"web/dates"},
	"web/feed":      {"web/dates", "web/datetext", "web/loosexml"},
	"web/robots":    {"web/dates"},
	"web/sitemap":   {"web/dates", "web/loosexml"},
	"web/trap":      {"web/htmltree"},
	"web/filter":    {"web/pyregexp"},
	"web/linkrules": {"web/canonical", "web/dates", "web/pyregexp"},

	"storage/expr":         {"storage/expr/mysqlvalue"},
	"storage/sqldb":        {"storage/expr", "storage/sqldb/pagesum"},
	"storage/sqldb/dbtest": {"storage/sqldb", "storage/sqldb/mariadbtest"},
	"storage/segments":     {"storage/rawfiles", "storage/sqldb"},
	"storage/legacyimport": {"storage", "storage/keyvalue", "storage/sqldb", "storage/sqlstore"},

	"storage/sqlstore":            {"storage/sqldb", "storage/sqlstore/attributes", "storage/sqlstore/contents", "storage/sqlstore/counters", "storage/sqlstore/custom", "storage/sqlstore/limits", "storage/sqlstore/moves", "storage/sqlstore/outcomes", "storage/sqlstore/sites", "storage/sqlstore/tables", "storage/sqlstore/urls", "storage/sqlstore/claims"},
	"storage/sqlstore/attributes": {"storage/expr", "storage/sqldb", "storage/sqlstore/tables"},
	"storage/sqlstore/contents":   {"storage/sqldb", "storage/sqlstore/tables"},
	"storage/sqlstore/counters":   {"storage/expr", "storage/sqldb", "storage/sqlstore/limits", "storage/sqlstore/tables"},
	"storage/sqlstore/custom":     {"storage/expr", "storage/sqldb", "storage/sqlstore/counters", "storage/sqlstore/tables"},
	"storage/sqlstore/limits":     {"storage/sqldb", "storage/sqlstore/tables"},
	"storage/sqlstore/moves":      {"storage/sqldb", "storage/sqlstore/attributes", "storage/sqlstore/counters", "storage/sqlstore/sites", "storage/sqlstore/tables"},
	"storage/sqlstore/outcomes":   {"storage/expr", "storage/sqldb", "storage/sqlstore/counters", "storage/sqlstore/limits", "storage/sqlstore/sites", "storage/sqlstore/tables", "storage/sqlstore/urls"},
	"storage/sqlstore/sites":      {"storage/expr", "storage/sqldb", "storage/sqlstore/counters", "storage/sqlstore/limits", "storage/sqlstore/tables"},
	"storage/sqlstore/tables":     {"storage/expr", "storage/sqldb"},
	"storage/sqlstore/urls":       {"storage/expr", "storage/sqldb", "storage/sqlstore/attributes", "storage/sqlstore/counters", "storage/sqlstore/sites", "storage/sqlstore/tables"},
	"storage/sqlstore/claims":     {"storage/expr", "storage/sqldb", "storage/sqlstore/attributes", "storage/sqlstore/counters", "storage/sqlstore/limits", "storage/sqlstore/sites", "storage/sqlstore/tables"},

	"crawl/cookies":        {"crawl/statefile"},
	"crawl/browser":        {"crawl/httprepair"},
	"crawl/explain":        {"crawl/fetch", "crawl/item", "crawl/reader", "crawl/robotscache", "crawl/settings", "crawl/visit"},
	"crawl/fetch":          {"crawl/httprepair"},
	"crawl/headerrotation": {"crawl/statefile"},
	"crawl/item":           {"crawl/budget", "crawl/fetch", "crawl/settings"},
	"crawl/hostgate":       {"crawl/politeness"},
	"crawl/politeclient":   {"crawl/fetch", "crawl/hostgate", "crawl/robotscache"},
	"crawl/proxypool":      {"crawl/statefile"},
	"crawl/quota":          {"crawl/statefile"},
	"crawl/reader":         {"crawl/budget", "crawl/cookies", "crawl/fetch", "crawl/item", "crawl/settings", "crawl/visit"},
	"crawl/robotscache":    {"crawl/fetch"},
	"crawl/settings":       {"crawl/browser", "crawl/cookies", "crawl/headerrotation", "crawl/proxypool", "crawl/quota"},
	"crawl/visit":          {"crawl/browser", "crawl/budget", "crawl/cookies", "crawl/fetch", "crawl/headerrotation", "crawl/hostgate", "crawl/item", "crawl/proxypool", "crawl/robotscache", "crawl/settings", "crawl/statefile"},

	"frontier/hostqueue": {"frontier/slots"},
	"frontier/refill":    {"frontier/slots"},

	"process/scraper": {
		"process/article", "process/author", "process/chain", "process/contenthash", "process/document", "process/entry", "process/extractor",
		"process/fallback", "process/language", "process/linkresolve", "process/media",
		"process/multiitem", "process/pubdate", "process/ranking", "process/redirectlink", "process/render", "process/template",
	},
	"process/reading":  {"process/document", "process/fields"},
	"process/remote":   {"process/linkresolve", "process/template"},
	"process/document": {"process/article", "process/markup", "process/office", "process/pdf"},
	"process/office":   {"process/markup", "process/symbolfont"},
	"process/pdf":      {"process/markup", "process/symbolfont"},

	"process/metadata":  {"process/author", "process/outline", "process/pubdate"},
	"process/choice":    {"process/metadata", "process/outline"},
	"process/writer":    {"process/outline"},
	"process/article":   {"process/choice", "process/language", "process/metadata", "process/outline", "process/pubdate", "process/writer"},
	"process/extractor": {"process/article", "process/author"},
	"process/language":  {"process/language/langmodel"},

	"daemon/broker":                {"daemon/bus"},
	"daemon/broker/brokertest":     {"daemon/broker"},
	"daemon/executor":              {"daemon/load"},
	"daemon/executor/executortest": {"daemon/executor", "daemon/executor/fakeworker"},
	"daemon/jetstream":             {"daemon/broker", "daemon/executor", "daemon/load"},
	"daemon/manager":               {"daemon/bus"},
	"daemon/manager/managertest":   {"daemon/bus", "daemon/executor"},
	"daemon/admin":                 {"daemon/bus", "daemon/manager"},
	"daemon/gateway":               {"daemon/bus", "daemon/manager"},
	"daemon/sites":                 {"daemon/bus", "daemon/executor", "daemon/manager"},
	"daemon/batches":               {"daemon/bus", "daemon/executor", "daemon/manager"},
	"daemon/node":                  {"daemon/batches", "daemon/broker", "daemon/bus", "daemon/executor", "daemon/jetstream", "daemon/manager", "daemon/sites"},
	"daemon/realtime":              {"daemon/bus", "daemon/executor", "daemon/manager"},
	"daemon/status":                {"daemon/bus"},
	"daemon/head":                  {"daemon/broker", "daemon/bus", "daemon/executor", "daemon/load", "daemon/manager", "daemon/sites"},

	"webserver/crawler":    {"webserver/folder", "webserver/handshake", "webserver/journal", "webserver/packet"},
	"webserver/fileserver": {"webserver/folder", "webserver/packet"},
	"webserver/program":    {"webserver", "webserver/control", "webserver/crawler", "webserver/fileserver", "webserver/webstore"},
	"webserver/webstore":   {"webserver/handshake", "webserver/journal", "webserver/packet"},

	"webserver/webstore/sinktest": {"webserver/packet", "webserver/webstore"},

	"archive/archivetest": {"archive", "archive/client", "archive/protocol"},
	"archive/catalog":     {"archive"},
	"archive/client":      {"archive", "archive/protocol"},
	"archive/crawl":       {"archive", "archive/filter", "archive/repository"},
	"archive/filter":      {"archive"},
	"archive/pagexml":     {"archive"},
	"archive/program":     {"archive", "archive/client", "archive/crawl", "archive/protocol", "archive/repository", "archive/server", "archive/wordcount"},
	"archive/protocol":    {"archive"},
	"archive/repository":  {"archive", "archive/catalog", "archive/pagexml"},
	"archive/server":      {"archive", "archive/protocol"},
	"archive/wordcount":   {"archive", "archive/repository"},

	"cli/actions":        {"cli/export", "cli/extraction", "cli/pages", "cli/service", "cli/sitespec", "cli/strict", "cli/target"},
	"cli/client":         {"cli/command", "cli/service"},
	"cli/command":        {"cli/plaintext"},
	"cli/crawlprogram":   {"cli/command", "cli/taskprogram"},
	"cli/daemonprogram":  {"cli/command"},
	"cli/processprogram": {"cli/command", "cli/taskprogram"},
	"cli/sitespec":       {"cli/strict", "cli/target"},
	"cli/export":         {"cli/objectstore", "cli/pages", "cli/parquetfile", "cli/referrers", "cli/wacz"},
	"cli/follow":         {"cli/pages", "cli/service"},
	"cli/hce":            {"cli/actions", "cli/apicommands", "cli/causes", "cli/command", "cli/datafolder", "cli/doctor", "cli/export", "cli/extraction", "cli/follow", "cli/livescreen", "cli/node", "cli/objectstore", "cli/overview", "cli/pages", "cli/plaintext", "cli/service", "cli/siteoptions", "cli/sitespec", "cli/subcommand", "cli/target", "cli/urlcommands", "cli/warcimport"},
	"cli/causes":         {"cli/plaintext"},
	"cli/target":         {"cli/command"},
	"cli/subcommand":     {"cli/actions", "cli/client", "cli/command", "cli/datafolder", "cli/export", "cli/node", "cli/pages", "cli/plaintext", "cli/service", "cli/strict", "cli/target"},
	"cli/siteoptions":    {"cli/command", "cli/sitespec", "cli/strict", "cli/subcommand", "cli/target"},
	"cli/doctor":         {"cli/causes", "cli/client", "cli/command", "cli/datafolder", "cli/node", "cli/overview", "cli/pages", "cli/plaintext", "cli/service", "cli/siteoptions", "cli/sitespec", "cli/subcommand"},
	"cli/urlcommands":    {"cli/actions", "cli/causes", "cli/command", "cli/datafolder", "cli/export", "cli/node", "cli/pages", "cli/plaintext", "cli/referrers", "cli/subcommand", "cli/target"},
	"cli/overview":       {"cli/causes", "cli/client", "cli/command", "cli/livescreen", "cli/pages", "cli/plaintext", "cli/service", "cli/subcommand"},
	"cli/mcpserver":      {"cli/actions", "cli/apikeys"},
	"cli/apicommands":    {"cli/actions", "cli/apikeys", "cli/command", "cli/datafolder", "cli/extraction", "cli/mcpserver", "cli/plaintext", "cli/subcommand", "cli/urlcommands"},
	"cli/livescreen":     {"cli/client", "cli/service"},
	"cli/node":           {"cli/client", "cli/datafolder", "cli/service", "cli/target"},
	"cli/pages":          {"cli/service"},
	"cli/referrers":      {"cli/linesort", "cli/pages"},
	"cli/storestest":     {"cli/clitest", "cli/service"},
	"cli/strict":         {"cli/command", "cli/service", "cli/target"},
	"cli/taskprogram":    {"cli/command"},
	"cli/wacz":           {"cli/linesort"},
	"cli/warcimport":     {"cli/objectstore", "cli/pages", "cli/service", "cli/target"},

	"ose/cycle":        {"ose/folder"},
	"ose/exchange":     {"ose/folder"},
	"ose/program":      {"ose/cycle", "ose/exchange", "ose/folder"},
	"search/feed":      {"search", "search/index"},
	"search/frontend":  {"search", "search/manager"},
	"search/index":     {"search", "search/query"},
	"search/manager":   {"search", "search/query"},
	"search/processor": {"search", "search/index", "search/manager"},
	"search/program":   {"search", "search/feed", "search/frontend", "search/index", "search/manager", "search/processor"},
}

// sees narrows what a group imports of a lower group: only the listed packages.
var sees = map[[2]string][]string{
	{"daemon", "storage"}:    {"storage/expr"},
	{"daemon", "crawl"}:      {},
	{"daemon", "process"}:    {},
	{"daemon", "task"}:       {},
	{"cli", "daemon"}:        {"daemon/bus", "daemon/curvekeys", "daemon/load", "daemon/manager/managertest"},
	{"cli", "storage"}:       {},
	{"cli", "crawl"}:         {"crawl/cookies", "crawl/fetch", "crawl/headerrotation", "crawl/hostgate", "crawl/politeclient", "crawl/proxypool", "crawl/quota"},
	{"cli", "process"}:       {"process/fields", "process/reading"},
	{"archive", "daemon"}:    {},
	{"archive", "storage"}:   {"storage/expr", "storage/sqldb"}, // for its own database
	{"archive", "crawl"}:     {},
	{"archive", "process"}:   {},
	{"webserver", "daemon"}:  {},
	{"webserver", "storage"}: {},
	{"webserver", "crawl"}:   {"crawl/fetch"},
	{"webserver", "process"}: {},
	{"ose", "daemon"}:        {},
	{"ose", "storage"}:       {},
	{"ose", "crawl"}:         {"crawl/fetch", "crawl/hostgate", "crawl/politeclient"},
	{"ose", "process"}:       {},
	{"search", "daemon"}:     {"daemon/bus"},
	{"search", "storage"}:    {},
	{"search", "crawl"}:      {},
	{"search", "process"}:    {"process/language"},
}

// configures are the packages that read the settings of a group and open it; sees does not narrow them.
var configures = []string{"cli/daemonprogram", "cli/crawlprogram", "cli/processprogram", "engine"}

// private lists the packages that only their own group may import, with the packages below them: all data
// passes through storage.Repository.
var private = []string{"storage/sqlstore", "storage/rawfiles", "storage/segments", "storage/keyvalue"}

// libraries lists the packages that may import a library or a sensitive part of the
// standard library.
var libraries = map[string][]string{
	"github.com/pebbe/zmq4":              {"daemon/bus"},
	"github.com/nats-io":                 {"daemon/broker"},
	"golang.org/x/crypto":                {"daemon/bus"},
	"gopkg.in/ini.v1":                    {"config"},
	"github.com/agnivade/levenshtein":    {"config"},
	"github.com/prometheus":              {"daemon/status"},
	"github.com/coreos/go-systemd":       {"cli/daemonprogram"},
	"github.com/mattn/go-sqlite3":        {"storage/sqldb"},
	"github.com/go-sql-driver/mysql":     {"storage/sqldb"},
	"github.com/pingcap/tidb":            {"storage/expr"},
	"github.com/nlnwa/whatwg-url":        {"web/canonical"},
	"github.com/antchfx":                 {"web/xpath"},
	"github.com/blevesearch":             {"search/index"},
	"github.com/andybalholm/brotli":      {"web/coding"},
	"github.com/andybalholm/cascadia":    {"web/xpath"},
	"github.com/chromedp":                {"crawl/browser"},
	"github.com/dlclark/regexp2":         {"web/pyregexp"},
	"github.com/gabriel-vasile/mimetype": {"web/content"},
	"github.com/klauspost/compress":      {"web/coding", "wire/zpack"},
	"github.com/kljensen/snowball":       {"process/contenthash"},
	"github.com/ncruces/go-strftime":     {"web/dates"},
	"github.com/parquet-go/parquet-go":   {"cli/parquetfile"},
	"github.com/minio/minio-go":          {"cli/objectstore"},
	"github.com/spf13":                   {"cli/command"},
	"github.com/pdfcpu/pdfcpu":           {"process/pdf"},
	"github.com/tdewolff/parse":          {"web/links", "web/loosexml"},
	"github.com/wlynxg/chardet":          {"web/charset"},
	"github.com/gofrs/flock":             {"files"},
	"github.com/google/renameio":         {"files"},
	"golang.org/x/term":                  {"cli/livescreen"},
	"golang.org/x/net/html":              {"archive/wordcount", "process/article", "process/extractor", "process/fields", "process/linkresolve", "process/template", "web/charset", "web/links", "web/tidy", "web/treesize", "web/xpath", "web/loosexml"},
	"golang.org/x/net/idna":              {"crawl/fetch", "wire/placement"},
	"golang.org/x/image":                 {"process/media"},
	"golang.org/x/text/encoding":         {"web/charset"},
	"database/sql":                       {"api/events", "archive/catalog", "storage", "storage/keyvalue", "storage/legacyimport", "storage/sqldb", "storage/sqlstore/contents"},
	"net/http":                           {"api", "api/events", "archive/client", "archive/protocol", "archive/server", "cli/actions", "cli/extraction", "cli/mcpserver", "cli/node", "cli/objectstore", "cli/warcimport", "crawl", "crawl/browser", "crawl/cookies", "crawl/explain", "crawl/fetch", "crawl/politeclient", "crawl/reader", "crawl/robotscache", "crawl/visit", "daemon/status", "places", "search/frontend", "web/content", "web/revalidate", "webserver/fileserver", "wire"},
	"os/exec":                            {"archive/filter", "archive/repository", "childprocess", "cli/actions", "cli/daemonprogram", "cli/node", "crawl/browser", "daemon/executor", "process", "pseudoterminal"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// public are the packages for programs of others, each with its place in the drawing.
var public = map[string]string{"canonical": "web/canonical", "robots": "web/robots", "sitemap": "web/sitemap", "warc": "warc", "hostgate": "crawl/hostgate"}

// productFolders are those with code of the product.
func productFolders() []string {
	list := []string{"../../internal", "../../cmd", "../../extract"}
	for name := range public {
		list = append(list, "../../"+name)
	}
	return list
}

// place is the path of a package of this module below internal/, or below the top
// folder. It is empty for a package of another module.
func place(importPath string) string {
	rest, inside := strings.CutPrefix(importPath, module)
	if !inside {
		return ""
	}
	return cmp.Or(public[rest], roomOf(strings.TrimPrefix(rest, "internal/")))
}

// isDrawn reports whether a package is in the drawing.
func isDrawn(importPath string) bool {
	return strings.HasPrefix(importPath, module+"internal/") || public[strings.TrimPrefix(importPath, module)] != ""
}

// fileName is the path of a file below internal/, or below the top folder.
func fileName(path string) string {
	return roomOf(strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(path), "../../"), "internal/"))
}

// isTestKit reports whether a package is for tests and demonstrations only.
func isTestKit(path string) bool { return strings.Contains(path, "internal/testkit/") }

// roomOf is a path below internal/ without the folders of guests and of test helpers.
func roomOf(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, "apps/"), "testkit/")
}

func group(place string) string {
	first, _, _ := strings.Cut(place, "/")
	return first
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("go list names only %d packages", len(all))
	}
	return all
}

func TestImportsPointDown(t *testing.T) {
	drawn := map[[2]string]bool{}
	for _, p := range packages(t) {
		from := place(p.ImportPath)
		if !isDrawn(p.ImportPath) {
			continue
		}
		if _, ok := row[group(from)]; !ok {
			t.Errorf("package %s belongs to no group of the drawing", from)
			continue
		}
		for _, importPath := range p.Imports {
			to := place(importPath)
			if to == "" || !isDrawn(importPath) {
				continue
			}
			if group(from) != group(to) {
				checkGroups(t, from, to, slices.Contains(p.Imports, "testing"))
				continue
			}
			drawn[[2]string{from, to}] = true
			if from != group(from) && !slices.Contains(arrows[from], to) {
				t.Errorf("%s imports %s, which its group's arrows do not allow", from, to)
			}
		}
	}
	for from, list := range arrows {
		for _, to := range list {
			if !drawn[[2]string{from, to}] {
				t.Errorf("the arrow from %s to %s is drawn, but nothing uses it", from, to)
			}
		}
	}
}

// checkGroups checks an import of another group. Test helpers, which import testing, may import
// all packages of lower groups.
func checkGroups(t *testing.T, from, to string, helper bool) {
	t.Helper()
	if row[group(to)] >= row[group(from)] {
		t.Errorf("%s (row %d) imports %s (row %d)", from, row[group(from)], to, row[group(to)])
	}
	if allowed, narrowed := sees[[2]string{group(from), group(to)}]; narrowed && !helper && !slices.Contains(configures, from) && !slices.Contains(allowed, to) {
		t.Errorf("%s imports %s; of that group it may import only %v", from, to, allowed)
	}
}

func TestStoresHaveOneOwner(t *testing.T) {
	for _, p := range packages(t) {
		from := place(p.ImportPath)
		for _, importPath := range p.Imports {
			if to := place(importPath); group(from) != group(to) && isPrivate(to) {
				t.Errorf("%s imports %s, which belongs to its group alone", from, to)
			}
		}
	}
}

func isPrivate(to string) bool {
	return slices.ContainsFunc(private, func(p string) bool { return to == p || strings.HasPrefix(to, p+"/") })
}

// Test helpers, which import testing, may use any library.
func TestLibrariesHaveOneImporter(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		from := place(p.ImportPath)
		inside := isDrawn(p.ImportPath) || strings.HasPrefix(from, "cmd/")
		if !inside || slices.Contains(p.Imports, "testing") || isTestKit(p.ImportPath) {
			continue
		}
		for _, to := range p.Imports {
			for library, importers := range libraries {
				if to != library && !strings.HasPrefix(to, library+"/") {
					continue
				}
				used[library] = true
				if !slices.Contains(importers, from) {
					t.Errorf("%s imports %s, which is for %v", from, to, importers)
				}
			}
		}
	}
	for library := range libraries {
		if !used[library] {
			t.Errorf("no package imports %s", library)
		}
	}
}

// timeLimited is the one file of the rules that reads the clock: it ends a regular
// expression that backtracks for too long.
const timeLimited = "../web/pyregexp/backtracking.go"

// Rules do no I/O, read no clock and start no goroutine.
func TestRulesArePure(t *testing.T) {
	forbiddenImports := []string{"os", "os/exec", "net", "database/sql", "log/slog", "math/rand", "sync/errgroup"}
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"}
	files := 0
	for _, root := range []string{"../web", "../wire"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if path == timeLimited {
				return nil
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files++
			for _, i := range file.Imports {
				if name := strings.Trim(i.Path.Value, `"`); slices.Contains(forbiddenImports, name) {
					t.Errorf("%s imports %s", path, name)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: starts a goroutine", set.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						t.Errorf("%s: calls time.%s", set.Position(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Fatalf("only %d files were read", files)
	}
}
