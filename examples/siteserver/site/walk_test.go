package site

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// TestEveryPageIsLinked walks the site like a crawler and compares the result with the
// files: every page needs a link, and every broken link must be a listed trouble.
func TestEveryPageIsLinked(t *testing.T) {
	server := serve(t, quick)
	listed := make(map[string]Trouble)
	for _, trouble := range Troubles() {
		listed[trouble.Path] = trouble
	}
	endless := map[string]bool{"/fault/endless.html": true, "/fault/trickle.html": true, "/fault/huge.html": true, "/fault/bomb.html": true}

	root, _ := url.Parse(server.URL + "/")
	seen := map[string]bool{root.String(): true}
	reached := make(map[string]bool)
	queue := []*url.URL{root}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		reached[at.Path] = true
		if endless[at.Path] {
			continue
		}
		request, _ := http.NewRequest("GET", at.String(), nil)
		resp, err := client.Do(request)
		trouble, isTrouble := listed[at.Path]
		if err != nil {
			if !isTrouble || trouble.Code != 0 {
				t.Errorf("%s: %v", at, err)
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil && !isTrouble {
			t.Errorf("%s: %v", at, err)
		}
		if resp.StatusCode != 200 && !isTrouble && at.Path != "/town/nobody.html" {
			t.Errorf("%s answers %d and is not listed", at, resp.StatusCode)
		}
		found := links(at, resp, body)
		for _, link := range found {
			if link.Host != root.Host || link.Scheme != "http" || seen[link.String()] {
				continue
			}
			seen[link.String()] = true
			queue = append(queue, link)
		}
	}
	for path := range loadFiles() {
		if name, ok := strings.CutSuffix(path, "index.html"); ok {
			path = name
		}
		if !reached[path] && path != "/robots.txt" {
			t.Errorf("no link leads to %s", path)
		}
	}
	for path, trouble := range listed {
		if !reached[path] {
			t.Errorf("no link leads to %s (%s)", path, trouble.What)
		}
	}
	for path := range reached {
		if Forbidden(path) && !strings.HasPrefix(path, "/private/") {
			t.Errorf("links lead to the forbidden %s", path)
		}
	}
	for path := range generatedPages() {
		if !reached[path] && path != "/fault/after-huge.html" {
			t.Errorf("no link leads to %s", path)
		}
	}
}

// links returns the URLs in a page and the target of a redirect.
func links(at *url.URL, resp *http.Response, body []byte) []*url.URL {
	var found []*url.URL
	base := at
	add := func(text string) {
		text = strings.NewReplacer("\n", "", "\r", "", "%zz", "%25zz").Replace(strings.TrimSpace(text))
		if link, err := base.Parse(text); err == nil {
			link.Fragment = ""
			link.RawFragment = ""
			link.ForceQuery = false
			found = append(found, link)
		}
	}
	if to := resp.Header.Get("Location"); to != "" {
		add(to)
	}
	kind := resp.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "text/html") {
		return found
	}
	reader, err := charset.NewReader(bytes.NewReader(body), kind)
	if err != nil {
		return found
	}
	hasBase := false
	tokens := html.NewTokenizer(reader)
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			for _, attr := range token.Attr {
				switch {
				case token.Data == "base" && attr.Key == "href":
					if b, err := at.Parse(attr.Val); err == nil && !hasBase {
						base, hasBase = b, true
					}
				case attr.Key == "href", attr.Key == "src", attr.Key == "action":
					add(attr.Val)
				case attr.Key == "srcset":
					for _, candidate := range strings.Split(attr.Val, ",") {
						if fields := strings.Fields(candidate); len(fields) > 0 {
							add(fields[0])
						}
					}
				}
			}
		}
	}
}
