// Package floor crawls a site as fast as net/http and the tokenizer of x/net/html allow: it
// fetches every URL once, extracts the links and stores nothing. It ignores robots.txt and
// charsets. Its speed is the reference for crawlers that store.
//
//	count, err := floor.Crawl(root, 4)
package floor

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// Count is what a crawl has fetched.
type Count struct {
	Pages int // text/html with code 200
	URLs  int // requested
}

// Attributes are the attributes with a URL, by element: those of the real system, for
// elements that documentation uses.
var Attributes = map[string]string{
	"a": "href", "area": "href", "link": "href", "img": "src", "script": "src",
	"frame": "src", "iframe": "src", "embed": "src", "object": "data", "source": "src",
	"video": "src", "audio": "src", "track": "src", "input": "src", "body": "background",
	"form": "action", "blockquote": "cite", "q": "cite", "ins": "cite", "del": "cite",
}

// mostBytes limits one body.
const mostBytes = 100 << 20

// page is the result of one URL.
type page struct {
	url   string
	links []string
	html  bool
	err   error
}

// Crawl fetches all URLs that start with root and are reachable from it, over as many
// connections as workers. One goroutine owns the queue and the set of known URLs; workers
// fetch and tokenize. It fails only if the first page cannot be fetched.
func Crawl(root *url.URL, workers int) (Count, error) {
	jobs, reports := make(chan string), make(chan page)
	client := &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{MaxConnsPerHost: workers, MaxIdleConnsPerHost: workers},
	}
	defer client.CloseIdleConnections()
	prefix := root.String()
	for range workers {
		go func() { // ends when jobs is closed
			for address := range jobs {
				reports <- fetchPage(client, address, prefix)
			}
		}()
	}
	defer close(jobs)

	var count Count
	known := map[string]bool{prefix: true}
	queue := []string{prefix}
	for busy := 0; len(queue) > 0 || busy > 0; {
		var next string
		var give chan string // nil, which blocks, while the queue is empty
		if len(queue) > 0 {
			next, give = queue[0], jobs
		}
		select {
		case give <- next:
			queue = queue[1:]
			busy++
		case p := <-reports:
			busy--
			if p.err != nil && p.url == prefix {
				return count, p.err // it is alone: nothing else is queued yet
			}
			count.URLs++
			if p.html {
				count.Pages++
			}
			for _, link := range p.links {
				if !known[link] {
					known[link] = true
					queue = append(queue, link)
				}
			}
		}
	}
	return count, nil
}

// fetchPage reads one URL completely, and its links if it is a page.
func fetchPage(client *http.Client, address, prefix string) page {
	p := page{url: address}
	resp, err := client.Get(address)
	if err != nil {
		p.err = err
		return p
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, mostBytes)
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		p.html = true
		p.links = extractLinks(resp.Request.URL, body, prefix)
	}
	_, err = io.Copy(io.Discard, body)
	if err == nil && resp.StatusCode >= 400 {
		err = fmt.Errorf("%s: %s", address, resp.Status)
	}
	p.err = err
	return p
}

// extractLinks lists the URLs in a page that start with prefix, without fragments.
func extractLinks(base *url.URL, body io.Reader, prefix string) []string {
	var found []string
	tokens := html.NewTokenizer(body)
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := tokens.TagName()
			isBase := string(name) == "base"
			wanted := Attributes[string(name)]
			if isBase {
				wanted = "href"
			}
			for more && wanted != "" {
				var key, value []byte
				key, value, more = tokens.TagAttr()
				if string(key) != wanted {
					continue
				}
				link, err := base.Parse(strings.TrimSpace(string(value)))
				if err != nil {
					continue
				}
				if isBase {
					base = link
					continue
				}
				link.Fragment, link.RawFragment = "", ""
				if address := link.String(); strings.HasPrefix(address, prefix) {
					found = append(found, address)
				}
			}
		}
	}
}
