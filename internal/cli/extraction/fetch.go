package extraction

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
	"hce/dc/internal/wire"
)

// Web asks hosts for single pages. It keeps what the crawler keeps: the egress guard, robots.txt, and one request at a time to a host,
// for all programs that share its gates. Goroutines may share it.
type Web struct {
	client *politeclient.Client
	delay  time.Duration
}

// WebConfig configures a Web.
type WebConfig struct {
	Gates    string         // folder of the gates
	Networks []netip.Prefix // networks that are not public and may be asked
	Delay    time.Duration  // least gap between two requests to a host
	MaxBytes int64          // of a page
	Timeout  time.Duration  // of a request with its redirects
	MaxWait  time.Duration  // for other requests to the host
}

// robotsAgent chooses the group of robots.txt.
const robotsAgent = "HCE-DC"

// OpenWeb opens the gates. It sends nothing.
func OpenWeb(c WebConfig) (*Web, error) {
	gates, err := hostgate.Open(c.Gates)
	if err != nil {
		return nil, err
	}
	return &Web{delay: c.Delay, client: &politeclient.Client{
		Fetch: fetch.New(fetch.Config{AllowedNetworks: c.Networks, MaxBytes: c.MaxBytes}), Gates: gates, Now: time.Now,
		Config: politeclient.Config{RobotsAgent: robotsAgent, RobotsTTL: time.Hour, AddressNames: -1, Timeout: c.Timeout, MaxWait: c.MaxWait},
	}}, nil
}

// Close ends the connections. No request may run.
func (w *Web) Close() {
	w.client.Fetch.Close()
	_ = w.client.Gates.Close() // nothing is written
}

// Get returns the answer of a page, whatever its status. robots.txt of every host on the way decides. The errors are those of
// politeclient.Client.Get.
func (w *Web) Get(ctx context.Context, url string, header http.Header) (*fetch.Response, error) {
	return w.client.Get(ctx, politeclient.Request{URL: url, Header: header, Delay: w.delay, Robots: true})
}

// GetFile returns the answer of a file for crawlers, such as robots.txt and a sitemap, which robots.txt does not forbid.
func (w *Web) GetFile(ctx context.Context, url string) (*fetch.Response, error) {
	return w.client.Get(ctx, politeclient.Request{URL: url, Delay: w.delay})
}

// Fetcher returns a function for Job.Fetch: the pages of a Web. Call end after the last page.
func Fetcher(gates string, networks []netip.Prefix) (get func(context.Context, string) (body []byte, contentType, finalURL string, err error), end func(), err error) {
	web, err := OpenWeb(WebConfig{Gates: gates, Networks: networks, Delay: 500 * time.Millisecond, MaxBytes: maxBytes, Timeout: time.Minute, MaxWait: 5 * time.Minute})
	if err != nil {
		return nil, nil, err
	}
	get = func(ctx context.Context, url string) ([]byte, string, string, error) {
		answer, err := web.Get(ctx, url, nil)
		if err != nil {
			return nil, "", "", err
		}
		if !wire.IsPageCode(int64(answer.Code)) {
			return nil, "", "", fmt.Errorf("the server answers %d %s", answer.Code, http.StatusText(answer.Code))
		}
		return answer.Body, answer.Header.Get("Content-Type"), answer.FinalURL, nil
	}
	return get, web.Close, nil
}
