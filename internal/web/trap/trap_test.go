package trap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/web/linkrules"
)

const nav = `<nav><a href="/">Home</a> <a href="/a">About us</a> <a href="/b">All of our products</a></nav>`

// sentence is a text of n words that no other seed has.
func sentence(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("%c%c%c%c", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26))
	}
	return strings.Join(words, " ")
}

// html is a page with navigation.
func html(title string, body ...string) []byte {
	return []byte("<html><head><title>" + title + "</title></head><body>" + nav + "<h1>" + title + "</h1><p>" + strings.Join(body, "</p><p>") + "</p></body></html>")
}

const site = "http://h.example"

// plain are the pages of a site without traps.
func plain(n int) (list []Page) {
	for i := range n {
		list = append(list, Page{URL: fmt.Sprintf("%s/p%d.html", site, i), Text: html(fmt.Sprint("Page ", i), sentence(uint64(i), 30))})
	}
	return list
}

// findings are the kinds and rules that a Watch finds in pages.
func findings(list []Page) []string {
	w := New()
	for _, p := range append(plain(12), list...) {
		w.Count(p.URL, p.NoIndex)
		if w.Wants(p.URL) {
			w.Add(p)
		}
	}
	got := []string{}
	for _, f := range w.Findings() {
		got = append(got, f.Kind+" "+f.Rule)
	}
	return got
}

func each(n int, page func(i int) Page) (list []Page) {
	for i := range n {
		list = append(list, page(i))
	}
	return list
}

func TestTraps(t *testing.T) {
	shuffled := func(i int, rows []string) []string {
		rows = slices.Clone(rows)
		rand.New(rand.NewPCG(uint64(i), 2)).Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		return rows
	}
	months := strings.Fields("January February March April May June July August September October November December")
	month := func(i int) []byte {
		days := []string{}
		for d := range 28 + i%4 {
			days = append(days, fmt.Sprint(d+1))
		}
		return html(fmt.Sprintf("%s %d", months[i%12], 2024+i/12), append(days, "no events")...)
	}
	for _, tt := range []struct {
		name string
		list []Page
		want []string
	}{
		{"sort links of listings", each(40, func(i int) Page {
			dir := fmt.Sprintf("/d%d/", i/8)
			rows := []string{"a.txt", "b.txt", "c.txt", "2024-01-01 10:00", dir}
			return Page{URL: fmt.Sprintf("%s%s?C=%c;O=%c", site, dir, "NMSD"[i%4], "AD"[i/4%2]), Text: html("Index of "+dir, shuffled(i, rows)...)}
		}), []string{"sort links [?&;](?:C|O)="}},
		{"edit pages and old versions", each(60, func(i int) Page {
			action := []string{"do=edit", "do=diff", "rev=" + fmt.Sprint(i)}[i%3]
			return Page{URL: fmt.Sprintf("%s/doku.php?id=p%d&%s", site, i/3, action), Text: html("x", sentence(uint64(1000+i), 20)), NoIndex: true}
		}), []string{`edit pages [?&;]do=edit(?:[&;#]|$)`, `differences of versions [?&;]do=diff(?:[&;#]|$)`, "old versions [?&;]rev="}},
		{"a calendar by parameters", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/cal.php?month=%d&year=%d", site, i%12+1, 2024+i/12), Text: month(i)}
		}), []string{`calendars /cal\.php[?;](?:.*[&;])?(?:month|year)=`}},
		{"a calendar by folders", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/events/%d/%02d/", site, 2024+i/12, i%12+1), Text: month(i)}
		}), []string{`calendars /events/[0-9]+/[0-9]+/(?:[?]|$)`}},
		{"session ids", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/p%d.php?sid=%032x&x=1", site, i%5, i*7919), Text: html("Page", sentence(uint64(i%5), 30), fmt.Sprintf("loaded at 10:%02d:33 in 0.%04d s", i, i))}
		}), []string{"session ids [?&;]sid="}},
		{"session ids in the path", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/p%d.do;jsessionid=%X?id=%d", site, i%3, i*7919, i%5), Text: html("Page", sentence(uint64(i%3*5+i%5), 30))}
		}), []string{"session ids [?&;]jsessionid="}},
		{"pixels with time stamps", each(30, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/pixel.gif?t=17%011d&r=0.%d", site, i*7777, i*991), Content: "gif"}
		}), []string{`time stamps /pixel\.gif[?;](?:.*[&;])?(?:r|t)=`}},
		{"filters of a shop", each(100, func(i int) Page {
			var rows []string
			for k := range 40 {
				if (k+i)%5 == 0 || (k*3+i/5)%7 == 0 {
					rows = append(rows, fmt.Sprintf("Cup number %d", k), sentence(uint64(k), 5))
				}
			}
			colours, sizes := strings.Fields("red blue green white black"), strings.Fields("s m l xl xxl")
			c, s := colours[i%5], sizes[i/5%5]
			return Page{URL: fmt.Sprintf("%s/shop?colour=%s&size=%s&page=%d", site, c, s, i/25), Text: html("Cups in "+c+" and "+s, rows...)}
		}), []string{`filters of lists /shop[?;](?:.*[&;])?(?:colour|size)=.*[&;](?:colour|size)=`}},
		{"versions of files, some of which are equal", each(96, func(i int) Page {
			path := []string{"plain/d0", "plain/d1", "plain/d2", "commit"}[i/4%4]
			text := sentence(uint64(9000), 9)
			if path == "commit" {
				text = sentence(uint64(9001+i), 20)
			}
			return Page{URL: fmt.Sprintf("%s/r.git/%s?id=%040x", site, path, i*7919), Text: html("r.git", text)}
		}), []string{`parameters that change nothing /r\.git/plain/d0[?;](?:.*[&;])?id=`, `parameters that change nothing /r\.git/plain/d1[?;](?:.*[&;])?id=`}},
		{"an action decides which parameter changes nothing", each(200, func(i int) Page {
			action, text := []string{"log", "commit"}[i%2], sentence(uint64(20000+i/2%5), 30)
			if action == "commit" {
				text = sentence(uint64(30000+i/2), 30)
			}
			return Page{URL: fmt.Sprintf("%s/git?p=r;a=%s;f=f%d;h=%d", site, action, i/2%5, i/2), Text: html("r", text)}
		}), []string{`parameters that change nothing /git[?;](?:.*[&;])?a=log[&;](?:.*[&;])?h=`}},
		{"files that are no HTML", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/raw?id=%d&x=1", site, i), Content: fmt.Sprintf("%032x", i*7919)}
		}), []string{}},
		{"pages by number", each(200, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/list?page=%d", site, i+1), Text: html(fmt.Sprint("Page ", i+1), sentence(uint64(5000+i), 8))}
		}), []string{}},
		{"pages by id, that differ in a number", each(300, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/item?id=%d", site, i+1), Text: html(fmt.Sprint("Item ", i+1))}
		}), []string{}},
		{"pages by two numbers", each(300, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/item?cat=%d&id=%d", site, i%7, i+1), Text: html(fmt.Sprintf("Item %d of %d", i+1, i%7), "in stock", fmt.Sprintf("%d.50", i%9))}
		}), []string{}},
		{"tables of years", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/table?year=%d", site, 1960+i), Text: html(fmt.Sprint("Year ", 1960+i), fmt.Sprint(i*7919+100000), fmt.Sprint(i*104729+100000))}
		}), []string{}},
		{"articles by date", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/news/2024/%02d/%02d/", site, i%12+1, i%28+1), Text: html("News", sentence(uint64(7000+i), 12))}
		}), []string{}},
		{"a site of noindex pages", each(60, func(i int) Page {
			return Page{URL: fmt.Sprintf("%s/i?id=%d", site, i), Text: html("x", sentence(uint64(8000+i), 12)), NoIndex: i%2 == 0}
		}), []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := findings(tt.list)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Parameters are removed from the URLs of a finding only: another action, or another path, needs them.
func TestNormalize(t *testing.T) {
	for name, c := range map[string]struct {
		scope scope
		urls  map[string]string
	}{
		"any path": {scope{parts: []string{""}, names: []string{"sid", "t"}}, map[string]string{
			"http://h/a?sid=1": "http://h/a", "http://h/a?x=1&sid=2&t=3&y=4": "http://h/a?x=1&y=4", "http://h/a;sid=7?x=1": "http://h/a?x=1", "http://h/a?asid=1": "http://h/a?asid=1",
		}},
		"one path": {scope{path: "/l", parts: []string{""}, names: []string{"C", "O"}}, map[string]string{
			"http://h/l?C=N;O=A": "http://h/l", "http://h/m?C=N;O=A": "http://h/m?C=N;O=A",
		}},
		"behind an action": {scope{parts: []string{"a=log", ""}, names: []string{"f", "h"}}, map[string]string{
			"http://h/g?p=r;a=log;h=1": "http://h/g?p=r;a=log", "http://h/g?a=log&f=2&h=1&x=1": "http://h/g?a=log&x=1", "http://h/g?p=r;a=commit;h=1": "http://h/g?p=r;a=commit;h=1", "http://h/g?a=logs;h=1": "http://h/g?a=logs;h=1",
		}},
		"before an action": {scope{parts: []string{"", "a=log"}, names: []string{"h"}}, map[string]string{
			"http://h/g?h=1;a=log": "http://h/g?a=log", "http://h/g?h=1&p=r&a=log&x=1": "http://h/g?p=r&a=log&x=1", "http://h/g?h=1;a=commit": "http://h/g?h=1;a=commit", "http://h/g?h=1;a=logs": "http://h/g?h=1;a=logs",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, text, _ := strings.Cut(Normalize([]Finding{{scope: c.scope}}), "=")
			n, err := linkrules.ParseNormalize(text)
			if err != nil {
				t.Fatal(text, err)
			}
			for url, want := range c.urls {
				if got := n.Replace(url); got != want {
					t.Errorf("%s: %s, want %s by %s", url, got, want, text)
				}
			}
		})
	}
}
