package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/zpack"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

// The file is read when it changes. Without a valid file nothing is decided.
func TestPlacementFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "placement.json")
	f := newPlacementFile(path)
	for _, text := range []string{`{"epoch":1,"self":"a","members":["a"]}`, "", `{"epoch":2,"self":"a","members":["a","b"]}`, "{}", `{"epoch":3,"self":"b","members":["a","b"]}`, `{"epoch":3,"self":`} {
		os.Remove(path)
		if text != "" {
			write(t, path, text)
		}
		want, invalid := placement.Parse([]byte(text))
		for range 2 {
			p, err := f.readPlacement()
			if fmt.Sprint(p) != fmt.Sprint(want) || (err != nil) != (invalid != nil) || err != nil && (!errors.Is(err, placement.ErrInvalid) || !strings.Contains(err.Error(), path)) {
				t.Errorf("%q: %v, %v", text, p, err)
			}
		}
	}
	if newPlacementFile("") != nil {
		t.Error("no path gives a placement")
	}
}

// inCluster makes a node with sites a member of a cluster.
func inCluster(t *testing.T, n *node, self string) (path string) {
	path = filepath.Join(t.TempDir(), "placement.json")
	write(t, path, fmt.Sprintf(`{"epoch":1,"self":%q,"members":["n1","n2"]}`, self))
	n.place = newPlacementFile(path)
	n.Store = sqlstore.Open(n.db, sqlstore.Options{Now: func() time.Time { return n.now }, Placement: n.place.readPlacement})
	return path
}

// A request that changes rows ends the program if the file of the placement is missing.
func TestMissingPlacementIsCritical(t *testing.T) {
	n := newNode(t)
	path := inCluster(t, n, "n1")
	n.good(`["SITE_NEW",{"id":"a","urls":["http://a.example/"]}]`)
	os.Remove(path)
	_, err := n.job.Run(t.Context(), json.RawMessage(`["URL_NEW",[{"siteId":"a","url":"http://a.example/b"}]]`))
	if err == nil || !errors.Is(err, placement.ErrInvalid) || !task.IsCritical(err) {
		t.Errorf("error %v", err)
	}
}

// Contents are stored by the node that has the row.
func TestContentsOfOwnRows(t *testing.T) {
	p := placement.Placement{Members: []string{"n1", "n2"}}
	for _, self := range p.Members {
		n := newNode(t)
		inCluster(t, n, self)
		n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q],"requestDelay":0}]`, site, root))
		put := fmt.Sprintf(`{"siteId":%q,"urlMd5":%q,"contentType":0,"putDict":{"data":"aGVsbG8="}}`, site, md5)
		answer := n.good(fmt.Sprintf(`["URL_NEW",[{"siteId":%q,"url":%q,"urlPut":%s}]]`, site, page, put))
		if !strings.Contains(answer, `"statuses":[0]`) {
			t.Errorf("URL_NEW: %s", answer)
		}
		if answer = n.good(`["URL_PUT",[` + put + `]]`); !strings.Contains(answer, `"errCode":0`) {
			t.Errorf("URL_PUT: %s", answer)
		}
		data, err := n.RawContent(t.Context(), site, md5, wire.ContentRaw)
		n.must(err)
		if mine := p.OwnerOfURL(page) == self; (string(data) == "hello") != mine {
			t.Errorf("%s has the content %q", self, data)
		}
	}
}

// The operations of the agent by their names.
func TestLinkOperations(t *testing.T) {
	n := newNode(t)
	if answer := n.good(`["LINKS_TAKE",{}]`); !strings.Contains(answer, `{"owners":[],"left":0}`) {
		t.Errorf("LINKS_TAKE: %s", answer)
	}
	if answer := n.good(`["LINKS_SENT",{"ids":[1]}]`); !strings.Contains(answer, `"statuses":[0]`) {
		t.Errorf("LINKS_SENT: %s", answer)
	}
	store := func(messages ...string) string {
		var r cluster.LinksStoreRequest
		for _, text := range messages {
			r.Messages = append(r.Messages, zpack.Pack([]byte(text)))
		}
		text, _ := json.Marshal([]any{"LINKS_STORE", r})
		return string(text)
	}
	if answer := n.good(store(`{"bundles":[{"id":1,"from":"n9","links":[{"siteId":"nowhere","url":"http://a.example/"}]}]}`)); !strings.Contains(answer, `"unknown":["nowhere"]`) {
		t.Errorf("LINKS_STORE: %s", answer)
	}
	large := `{"bundles":` + strings.Repeat(" ", zpack.MaxMessage-100) + `[{"id":1,"from":"n9","links":[]}]}`
	for _, bad := range []string{`["LINKS_TAKE",{"max":-1}]`, store(`{"bundles":[{"id":1}]}`), store(`{"links":[{"id":1}]}`), store(), store("no JSON"), store(large, large, large), `["LINKS_STORE",[]]`} {
		if answer := n.run(bad); !strings.Contains(answer, `"refused":true`) {
			t.Errorf("%.200s: %s", bad, answer)
		}
	}
}

// What a link to a host of another node costs in the stores; see TestCostOfAPage. Pages have 50
// links, 5 of them new, all to hosts of the other node.
func TestCostOfAForeignLink(t *testing.T) {
	const round, links, warm, rounds = 64, 50, 4, 5
	limits := []struct {
		name string
		most float64
	}{{"transactions", 0.005}, {"statements", 0.03}, {"changed rows", 1.1}, {"allocations", 30}} // 15 without the race detector, which empties pools
	n := newNode(t)
	inCluster(t, n, "n1")
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"requestDelay":0}]`, site))
	p, own, other := placement.Placement{Members: []string{"n1", "n2"}}, "", ""
	for i := 0; own == "" || other == ""; i++ {
		host := fmt.Sprintf("h%d.example", i)
		if p.Owner(host) == "n1" {
			own = host
		} else {
			other = host
		}
	}
	fresh := 0
	var total [4]float64
	var m runtime.MemStats
	cost := func() [4]float64 {
		transactions, statements, rows := n.db.Counts()
		runtime.ReadMemStats(&m)
		return [4]float64{float64(transactions), float64(statements), float64(rows), float64(m.Mallocs)}
	}
	save := func(i int, foreign bool) (spent [4]float64) {
		n.now = n.now.Add(time.Second)
		var rows []wire.URL
		var results []wire.Fetched
		for j := range round {
			u := wire.NewURL(site, fmt.Sprintf("http://%s/page%d-%d-%v", own, i, j, foreign))
			rows = append(rows, u)
			r := wire.Fetched{URLMd5: u.URLMd5, Crawled: true, First: true, At: n.now, Set: schema.Patch{"Status": int64(4)}}
			for k := range links {
				at := fresh
				if k%10 > 0 && fresh > 5 {
					at = (j*31 + k*7) % fresh
				} else if foreign {
					fresh++
				}
				if foreign {
					l := wire.NewURL(site, fmt.Sprintf("http://%s/folder/%d.html", other, at))
					l.ParentMd5, l.Depth, l.UDate, l.CDate = u.URLMd5, 1, schema.DateOf(n.now), schema.DateOf(n.now)
					r.Links = append(r.Links, wire.Link{URL: l})
				}
			}
			results = append(results, r)
		}
		_, err := n.MarkCrawling(t.Context(), site, 7, rows)
		n.must(err)
		before := cost()
		n.saved(n.SaveCrawl(t.Context(), site, 7, results))
		for i, after := range cost() {
			spent[i] = after - before[i]
		}
		return spent
	}
	queued := 0
	for i := range warm + rounds {
		was := fresh
		with, without := save(i, true), save(i, false)
		if i < warm {
			continue
		}
		queued += fresh - was
		for k := range total {
			total[k] += with[k] - without[k]
		}
	}
	for i, limit := range limits {
		got := total[i] / float64(queued)
		t.Logf("%.3f %s per new foreign link", got, limit.name)
		if got > limit.most {
			t.Errorf("%.3f %s per new foreign link, limit %.3f", got, limit.name, limit.most)
		}
	}
}
