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

// Fetcher returns a function for Job.Fetch. It keeps what the crawler keeps: the egress guard with the networks that are
// allowed in addition, robots.txt, and one request at a time to a host, for all programs that share the folder gates.
// Call end after the last page.
func Fetcher(gates string, networks []netip.Prefix) (get func(context.Context, string) (body []byte, contentType, finalURL string, err error), end func(), err error) {
	open, err := hostgate.Open(gates)
	if err != nil {
		return nil, nil, err
	}
	client := fetch.New(fetch.Config{AllowedNetworks: networks, MaxBytes: maxBytes})
	web := &politeclient.Client{Fetch: client, Gates: open, Now: time.Now, Config: politeclient.Config{
		RobotsAgent: "HCE-DC", RobotsTTL: time.Hour, AddressNames: -1, Timeout: time.Minute, MaxWait: 5 * time.Minute,
	}}
	get = func(ctx context.Context, url string) ([]byte, string, string, error) {
		answer, err := web.Get(ctx, politeclient.Request{URL: url, Delay: 500 * time.Millisecond, Robots: true})
		if err != nil {
			return nil, "", "", err
		}
		if !wire.IsPageCode(int64(answer.Code)) {
			return nil, "", "", fmt.Errorf("the server answers %d %s", answer.Code, http.StatusText(answer.Code))
		}
		return answer.Body, answer.Header.Get("Content-Type"), answer.FinalURL, nil
	}
	return get, func() {
		client.Close()
		_ = open.Close() // nothing is written
	}, nil
}
