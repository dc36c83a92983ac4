package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// mostBytes limits one body.
const mostBytes = 100 << 20

// page is the result of one URL.
type page struct {
	url   string
	links []*url.URL
	bytes int64
	html  bool
	err   error
}

// crawl fetches all URLs that start with root and are reachable from it. One goroutine owns
// the queue and the set of known URLs; workers fetch and tokenize.
func crawl(root *url.URL, workers int) (Result, error) {
	var result Result
	work := func() error {
		jobs := make(chan string)
		reports := make(chan page)
		client := &http.Client{
			Timeout:   time.Minute,
			Transport: &http.Transport{MaxConnsPerHost: workers, MaxIdleConnsPerHost: workers},
		}
		defer client.CloseIdleConnections()
		for range workers {
			go func() {
				for address := range jobs {
					reports <- fetch(client, address)
				}
			}()
		}
		defer close(jobs)

		prefix := root.String()
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
				result.URLs++
				result.Bytes += p.bytes
				if p.err != nil && p.url == prefix {
					for ; busy > 0; busy-- {
						<-reports
					}
					return p.err
				}
				if p.html {
					result.Pages++
				}
				for _, link := range p.links {
					address := link.String()
					if strings.HasPrefix(address, prefix) && !known[address] {
						known[address] = true
						queue = append(queue, address)
					}
				}
			}
		}
		return nil
	}
	var err error
	result.Seconds, result.CPUSeconds, result.MaxRSS, err = measure(work)
	return result, err
}

// fetch reads one URL completely, and its links if it is a page.
func fetch(client *http.Client, address string) page {
	p := page{url: address}
	resp, err := client.Get(address)
	if err != nil {
		p.err = err
		return p
	}
	defer resp.Body.Close()
	body := &countingReader{from: io.LimitReader(resp.Body, mostBytes)}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		p.html = true
		p.links = links(resp.Request.URL, body)
	}
	_, err = io.Copy(io.Discard, body)
	p.bytes = body.n
	if err == nil && resp.StatusCode >= 400 {
		err = fmt.Errorf("%s: %s", address, resp.Status)
	}
	p.err = err
	return p
}

// countingReader counts the bytes read.
type countingReader struct {
	from io.Reader
	n    int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// urlAttributes are the attributes with a URL, by element: those of the real system, for
// elements that documentation uses.
var urlAttributes = map[string]string{
	"a": "href", "area": "href", "link": "href", "img": "src", "script": "src",
	"frame": "src", "iframe": "src", "embed": "src", "object": "data", "source": "src",
	"video": "src", "audio": "src", "track": "src", "input": "src", "body": "background",
	"form": "action", "blockquote": "cite", "q": "cite", "ins": "cite", "del": "cite",
}

// links lists the http and https URLs in a page, without fragments.
func links(base *url.URL, body io.Reader) []*url.URL {
	var found []*url.URL
	tokens := html.NewTokenizer(body)
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := tokens.TagName()
			wanted := urlAttributes[string(name)]
			isBase := string(name) == "base"
			for more && (wanted != "" || isBase) {
				var key, value []byte
				key, value, more = tokens.TagAttr()
				if string(key) != wanted && !(isBase && string(key) == "href") {
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
				if link.Scheme != "http" && link.Scheme != "https" {
					continue
				}
				link.Fragment, link.RawFragment = "", ""
				found = append(found, link)
			}
		}
	}
}
