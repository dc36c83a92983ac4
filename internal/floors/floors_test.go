package floors

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "hce/dc/"

// floor is the floor of each package below internal/.
var floor = map[string]int{
	"dc": 0, "prop": 0, "pyre": 0, "canon": 0, "robots": 0, "expr": 0, "polite": 0, "filter": 0, "extract": 0, "merge": 0,
	"content": 0, "modified": 0, "loosexml": 0, "feed": 0, "sitemap": 0, "linkrules": 0, "urlschema": 0,
	"config": 1, "cli": 1, "bus": 1, "env": 1, "load": 1, "rawcache": 1, "fetch": 1, "hostgate": 1, "kv": 1, "db": 1, "store": 1, "original": 1, "manual": 1,
	"statefile": 1, "cookies": 1, "rotation": 1, "freq": 1, "proxies": 1, "browser": 1, "keys": 1, "finalize": 0,
	"task": 2, "crawl": 2, "process": 2, "dbtask": 2,
	"manager": 3, "admin": 3, "clients": 3, "sites": 3, "batches": 3, "realtime": 3, "status": 3,
	"daemon": 4, "client": 4,
	"taskmain": 5, "optest": 5, "week": 5, "top": 5,
	"floors": 9,
}

// arrows are the imports within a floor that are allowed: from, to.
var arrows = map[[2]string]bool{
	{"env", "load"}: true, {"store", "db"}: true, {"original", "db"}: true, {"manual", "cli"}: true,
	{"loosexml", "extract"}: true, {"feed", "loosexml"}: true, {"sitemap", "loosexml"}: true,
	{"cookies", "statefile"}: true, {"rotation", "statefile"}: true, {"freq", "statefile"}: true, {"proxies", "statefile"}: true,
	{"crawl", "task"}: true, {"process", "task"}: true, {"dbtask", "task"}: true,
	{"admin", "manager"}: true, {"clients", "manager"}: true, {"sites", "manager"}: true,
	{"batches", "manager"}: true, {"realtime", "manager"}: true,
}

// words are what every package of floor 0 may import of its own floor.
var words = []string{"dc", "prop", "pyre"}

// onlyFor are packages that few may import, wherever they stand.
var onlyFor = map[string][]string{
	"store":    {"dbtask"},
	"rawcache": {"dbtask"},
	"kv":       {"dbtask"},
	"original": {"dbtask", "cmd"},
	"fetch":    {"crawl", "cmd"},
	"hostgate": {"crawl", "cmd"},
	"browser":  {"crawl", "cmd"},
	"extract":  {"crawl", "process", "loosexml"},
	"loosexml": {"feed", "sitemap"},
}

// outside are libraries with one importer each.
var outside = map[string][]string{
	"github.com/pebbe/zmq4":                        {"bus"},
	"gopkg.in/ini.v1":                              {"config"},
	"github.com/agnivade/levenshtein":              {"config"},
	"github.com/prometheus":                        {"status"},
	"github.com/coreos/go-systemd":                 {"cmd"},
	"github.com/mattn/go-sqlite3":                  {"db"},
	"github.com/go-sql-driver/mysql":               {"db"},
	"github.com/pingcap/tidb":                      {"expr"},
	"github.com/nlnwa/whatwg-url":                  {"canon"},
	"github.com/markusmobius":                      {"extract"},
	"github.com/JohannesKaufmann/html-to-markdown": {"extract"},
	"github.com/andybalholm/brotli":                {"fetch"},
	"github.com/gabriel-vasile/mimetype":           {"content"},
	"github.com/klauspost/compress":                {"fetch"},
	"golang.org/x/term":                            {"top"},
	"golang.org/x/net/html":                        {"extract"},
	"golang.org/x/text/encoding":                   {"extract"},
	"github.com/wlynxg/chardet":                    {"extract"},
	"database/sql":                                 {"db", "kv", "store", "original", "dbtask"},
	"net/http":                                     {"fetch", "crawl", "dc", "content", "modified", "cookies", "browser", "status"},
	"os/exec":                                      {"env", "browser"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// home is the package's own name: the first element below internal, or cmd,
// examples, sql for what is outside it.
func home(importPath string) string {
	rest, inside := strings.CutPrefix(importPath, module)
	if !inside {
		return ""
	}
	rest = strings.TrimPrefix(rest, "internal/")
	first, _, _ := strings.Cut(rest, "/")
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
		t.Fatalf("only %d packages are listed", len(all))
	}
	return all
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		from := home(p.ImportPath)
		inside := strings.HasPrefix(p.ImportPath, module+"internal/")
		if _, drawn := floor[from]; inside && !drawn {
			t.Errorf("package %s is not on the drawing", p.ImportPath)
			continue
		}
		forTests := slices.Contains(p.Imports, "testing") // libraries are free for what only tests import
		for _, to := range p.Imports {
			checkOutside(t, from, to, inside && !forTests)
			name := home(to)
			if name == "" || name == from || !strings.HasPrefix(to, module+"internal/") {
				continue
			}
			if limited, ok := onlyFor[name]; ok && !slices.Contains(limited, from) {
				t.Errorf("%s imports %s, which is for %v alone", p.ImportPath, name, limited)
			}
			if !inside {
				continue
			}
			switch {
			case floor[name] < floor[from], arrows[[2]string{from, name}]:
			case floor[from] == 0 && slices.Contains(words, name):
			default:
				t.Errorf("%s (floor %d) imports %s (floor %d)", p.ImportPath, floor[from], name, floor[name])
			}
		}
	}
}

func checkOutside(t *testing.T, from, to string, inside bool) {
	t.Helper()
	if !inside {
		return
	}
	for library, importers := range outside {
		if to != library && !strings.HasPrefix(to, library+"/") {
			continue
		}
		if !slices.Contains(importers, from) && !slices.Contains(importers, path.Base(from)) {
			t.Errorf("%s imports %s, which is for %v alone", from, to, importers)
		}
	}
}

// Managers and jobs must not know each other's worlds.
func TestManagersAndJobsAreApart(t *testing.T) {
	jobs := []string{"task", "crawl", "process", "dbtask", "store", "fetch", "extract", "rawcache", "kv"}
	for _, p := range packages(t) {
		from := home(p.ImportPath)
		for _, to := range p.Imports {
			name := home(to)
			if name == "" {
				continue
			}
			if floor[from] == 3 && slices.Contains(jobs, name) && from != "floors" {
				t.Errorf("manager package %s imports %s", from, name)
			}
			if slices.Contains(jobs, from) && (floor[name] >= 3 || name == "bus" || name == "env") && name != "cmd" {
				t.Errorf("job package %s imports %s", from, name)
			}
		}
	}
}
