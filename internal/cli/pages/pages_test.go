package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/result"
)

const root = "https://example.org/"

// fill stores n pages and returns their keys in order.
func fill(stores *storestest.Stores, site string, n int) (keys []string) {
	for i := range n {
		url := fmt.Sprintf("%sp%d", root, i)
		stores.AddPage(site, url, fmt.Sprint("Title ", i), fmt.Sprint("text ", i))
		keys = append(keys, wire.Md5(url))
	}
	slices.Sort(keys)
	return keys
}

func TestReadEveryPageOnce(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	want := fill(stores, site, contentsAtOnce+3)
	var got, portions []string
	err := Reader{Service: stores, Site: site, Needs: Processed}.Read(t.Context(), "", func(p *Page) error {
		got = append(got, p.URLMd5)
		if p.Text("title") == "" || p.Text("content_encoded") == "" || p.Raw != nil || p.Text("nothing") != "" {
			t.Errorf("%s: %q, raw %q", p.URL.URL, p.Text("title"), p.Raw)
		}
		return nil
	}, func(last string) error { portions = append(portions, last); return nil })
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, pages %q\nwant %q", err, got, want)
	}
	if !slices.Equal(portions, []string{want[contentsAtOnce-1], want[len(want)-1]}) {
		t.Errorf("portions %q", portions)
	}
}

func TestNeeds(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	fill(stores, site, 1)
	for needs, want := range map[Needs][3]bool{0: {}, Processed: {true}, Raw: {false, true}, Raw | Headers: {false, true, true}, Headers: {false, false, true}} {
		err := Reader{Service: stores, Site: site, Needs: needs}.Read(t.Context(), "", func(p *Page) error {
			if got := [3]bool{p.Result != nil, p.Raw != nil, p.Headers != nil}; got != want {
				t.Errorf("needs %d: %v, want %v", needs, got, want)
			}
			return nil
		}, nil)
		if err != nil {
			t.Error(err)
		}
	}
}

// Reading that ends with an error continues behind the last portion, while pages come and go.
func TestReadContinues(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	keys := fill(stores, site, 2*contentsAtOnce)
	broken := errors.New("broken")
	seen := map[string]int{}
	after, portions := "", 0
	reader := Reader{Service: stores, Site: site, Needs: Processed}
	err := reader.Read(t.Context(), "", func(p *Page) error { seen[p.URLMd5]++; return nil }, func(last string) error {
		after = last
		portions++
		return broken
	})
	if !errors.Is(err, broken) || portions != 1 || after != keys[contentsAtOnce-1] {
		t.Fatalf("%v, %d portions, after %s", err, portions, after)
	}
	stores.AddPage(site, root+"new", "New", "new")
	if err := reader.Read(t.Context(), after, func(p *Page) error { seen[p.URLMd5]++; return nil }, nil); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if seen[key] != 1 {
			t.Errorf("%s was read %d times", key, seen[key])
		}
	}
	if added := wire.Md5(root + "new"); seen[added] != map[bool]int{true: 1}[added > after] {
		t.Errorf("the new page was read %d times", seen[added])
	}
}

func TestConditions(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	fill(stores, site, 2)
	stores.AddFailed(site, root+"gone", 404, errormask.HTTP)
	n := 0
	count := func(*Page) error { n++; return nil }
	if err := (Reader{Service: stores, Site: site, Where: "`HTTPCode`=404 OR `Depth`>9"}).Read(t.Context(), "", count, nil); err != nil || n != 1 {
		t.Errorf("%d pages, %v", n, err)
	}
	if err := (Reader{Service: stores, Site: site, Where: "`Nothing`=1"}).Read(t.Context(), "", count, nil); err == nil {
		t.Error("an unknown column is accepted")
	}
}

// A page that changes while its portion is read has the row and the contents of one version, and a
// page that is deleted is left out.
func TestPagesChangeWhileTheyAreRead(t *testing.T) {
	for _, moment := range []wire.Op{wire.URLContent, wire.URLFetch} {
		t.Run(moment.String(), func(t *testing.T) {
			stores := storestest.Open(t)
			site := stores.NewSite(root)
			keys := fill(stores, site, 3)
			raw := func(title, text string) int64 { return int64(len("<title>" + title + "</title><p>" + text)) }
			asked := 0
			stores.OnAsk(func(op wire.Op) {
				if op != moment {
					return
				}
				// 1: before the rows or the contents are read; 2: before they are looked at again.
				if asked++; asked > 2 {
					return
				}
				n := asked
				stores.ChangePage(site, root+"p1", "Other", strings.Repeat("x", 10*n), n+1)
				if n == 2 {
					stores.DeletePage(site, root+"p2")
				}
			})
			seen := map[string]int{}
			err := Reader{Service: stores, Site: site, Needs: Processed | Raw}.Read(t.Context(), "", func(p *Page) error {
				seen[p.URLMd5]++
				if want := raw(p.Text("title"), p.Text("content_encoded")); p.Size != want || int64(len(p.Raw)) != want {
					t.Errorf("%s: the row has %d bytes, the raw page %d, the text belongs to %d", p.URL.URL, p.Size, len(p.Raw), want)
				}
				return nil
			}, nil)
			if err != nil || asked < 2 {
				t.Fatal(asked, err)
			}
			for _, key := range keys {
				want := 1
				if key == wire.Md5(root+"p2") && moment == wire.URLFetch { // else it was deleted after it was read
					want = 0
				}
				if seen[key] != want {
					t.Errorf("page %s was read %d times, want %d", key, seen[key], want)
				}
			}
		})
	}
}

// requests records what is asked.
type requests struct {
	service.Service
	fetches []wire.URLFetchRequest
}

func (r *requests) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	if op == wire.URLFetch {
		text, err := json.Marshal(request)
		if err != nil {
			return err
		}
		list, err := wire.ReadURLFetch(text, &lenient.Notes{})
		if err != nil {
			return err
		}
		r.fetches = append(r.fetches, list...)
	}
	return r.Service.Ask(ctx, op, request, answer)
}

// Rows are read in the order of their keys or in none: the default order reads a whole site for each
// portion.
func TestRowsAreReadByKey(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	fill(stores, site, contentsAtOnce+1)
	service := &requests{Service: stores}
	if err := (Reader{Service: service, Site: site, Needs: Processed}).Read(t.Context(), "", func(*Page) error { return nil }, nil); err != nil {
		t.Fatal(err)
	}
	var orders []string
	for _, f := range service.fetches {
		orders = append(orders, f.URLsCriterion.OrderBy)
	}
	if want := []string{"`URLMd5` ASC", "", ""}; !slices.Equal(orders, want) {
		t.Errorf("orders %q, want %q", orders, want)
	}
}

func TestPublished(t *testing.T) {
	tags := func(pairs ...string) *result.Result {
		r := &result.Result{}
		for i := 0; i < len(pairs); i += 2 {
			r.Add(result.Tag{Name: pairs[i], Data: []string{pairs[i+1]}})
		}
		return r
	}
	assumed := tags("pubdate", "2024-07-01 10:00:00")
	assumed.Assumed = true
	entry := tags("published", "Mon, 01 Jul 2024 10:00:00 +0900")
	known := tags("title", "x")
	known.Published = "2024-07-01T10:00:00Z"
	row := wire.URL{PDate: "2026-01-01 00:00:00", LastModified: "2026-01-01 00:00:00", CDate: "2026-01-01 00:00:00"}
	for _, tt := range []struct {
		name   string
		result *result.Result
		kind   int64
		want   string
	}{
		{"not processed", nil, 0, ""},
		{"no date: never that of the row", tags("title", "x"), 0, ""},
		{"a zone", tags("pubdate", "2024-07-01 23:30:00", "pubdate_tz", "+0900"), 0, "2024-07-01T23:30:00+09:00"},
		{"no zone", tags("pubdate", "2024-07-01 23:30:00"), 0, "2024-07-01T23:30:00"},
		{"a day", tags("pubdate", "2024-07-01 00:00:00"), 0, "2024-07-01"},
		{"the time of processing", assumed, 0, ""},
		{"an entry of a feed", entry, wire.TypeFetched, "2024-07-01T10:00:00+09:00"},
		{"an entry, date of another field", known, wire.TypeFetched, "2024-07-01T10:00:00Z"},
	} {
		p := Page{URL: row, Result: tt.result}
		p.Type = tt.kind
		if got := p.Published().String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestModified(t *testing.T) {
	stated := &result.Result{Modified: "2024-07-02"}
	for _, tt := range []struct {
		name    string
		result  *result.Result
		headers string
		want    string
	}{
		{"nothing", nil, "", ""},
		{"the page says it", stated, "Last-Modified: Mon, 01 Jul 2024 10:00:00 GMT\r\nDate: Tue, 02 Jul 2024 10:00:00 GMT\r\n", "2024-07-02"},
		{"the server says it", nil, "HTTP/1.1 200 OK\r\nlast-modified: Mon, 01 Jul 2024 10:00:00 GMT\r\nDate: Tue, 02 Jul 2024 10:00:00 GMT\r\n", "2024-07-01T10:00:00Z"},
		{"the server says now", nil, "Last-Modified: Tue, 02 Jul 2024 10:00:00 GMT\r\nDate: Tue, 02 Jul 2024 10:00:00 GMT\r\n", ""},
		{"only Date", nil, "Date: Tue, 02 Jul 2024 10:00:00 GMT\r\n", ""},
	} {
		p := Page{URL: wire.URL{LastModified: "2026-01-01 00:00:00"}, Result: tt.result, Headers: []byte(tt.headers)}
		if got := p.Modified().String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
