package processprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
	"hce/dc/internal/process/remote"
)

// webSettings are the settings of requests. Those that the crawler has too are read from its ini
// file, so that both keep the same rules.
type webSettings struct {
	missing string // why no request is sent; "": nothing
	fetch   fetch.Config
	client  politeclient.Config
	gates   string
	remote  remote.Config
	crawler *config.File
}

func readWeb(s *config.Section, app config.Application) (w webSettings, err error) {
	path := s.Path("crawler-task_ini", "crawler-task.ini")
	w.remote = remote.Config{
		TemplateDir:    s.Path("template_dir", ""),
		StateDir:       s.PathIn(app.DataDir, "template_state_dir", "dc_template_sources"),
		MaxTemplate:    s.Int("max_template_size", 1<<20, 1<<10, 4<<20),
		KeepTime:       s.Duration("remote_ttl", time.Second, 300*time.Second, time.Second, 24*time.Hour),
		MaxPageLinks:   int(s.Int("max_page_links", 20, 0, 1000)),
		MaxBatchLinks:  int(s.Int("max_batch_links", 1000, 0, 1000000)),
		MaxResolveBody: maxResolveBody,
	}
	w.client.Timeout = s.Duration("request_timeout", time.Millisecond, 10*time.Second, 100*time.Millisecond, 5*time.Minute)
	w.client.MaxWait = s.Duration("request_max_wait", time.Millisecond, 30*time.Second, 100*time.Millisecond, 5*time.Minute)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		w.missing = fmt.Sprintf("no request is sent without the settings of the crawler: crawler-task_ini of processor-task.ini names %s, which does not exist", path)
		return w, nil
	}
	if w.crawler, err = config.Load(path); err != nil {
		return w, fmt.Errorf("crawler-task_ini: %w", err)
	}
	c := w.crawler.Section("CrawlerTask")
	w.client.RobotsAgent = c.Text("robots_agent", "HCE-DC")
	w.client.RobotsTTL = c.Duration("robots_ttl", time.Hour, 24*time.Hour, 0, 24*time.Hour)
	w.client.AddressNames = int(c.Int("shared_address_names", 4, -1, hostgate.MaxSharedNames))
	w.gates = c.PathIn(app.DataDir, "host_gate_dir", "dc_hosts")
	w.fetch = fetch.Config{AllowedNetworks: c.Networks("AllowedNetworks"), MinRate: c.Int("min_throughput", 64, 0, 1<<30), MaxBytes: 4 << 20}
	return w, nil
}

// readFiles returns the ini files that were read in addition to that of the program.
func (w *webSettings) readFiles(others ...*config.File) []*config.File {
	if w.crawler != nil {
		others = append(others, w.crawler)
	}
	return others
}

// maxResolveBody is the part of the body of a link that may name its target.
const maxResolveBody = 256 << 10

// openClient returns the client. It opens no connection.
func (w *webSettings) openClient() (remote.Web, func(), error) {
	if w.missing != "" {
		return noWeb{errors.New(w.missing)}, func() {}, nil
	}
	gates, err := hostgate.Open(w.gates)
	if err != nil {
		return nil, nil, err
	}
	client := fetch.New(w.fetch)
	closeAll := func() {
		client.Close()
		_ = gates.Close() // nothing is written
	}
	return web{&politeclient.Client{Fetch: client, Gates: gates, Config: w.client, Now: time.Now}}, closeAll, nil
}

// noWeb refuses all requests.
type noWeb struct{ reason error }

func (n noWeb) Get(context.Context, remote.Request) (remote.Answer, error) {
	return remote.Answer{}, n.reason
}

// web is a politeclient.Client as a remote.Web.
type web struct{ client *politeclient.Client }

func (w web) Get(ctx context.Context, r remote.Request) (remote.Answer, error) {
	header := map[string][]string{}
	for _, h := range r.Header {
		header[h.Name] = append(header[h.Name], h.Value)
	}
	a, err := w.client.Get(ctx, politeclient.Request{
		URL: r.URL, Method: r.Method, Header: header, Body: []byte(r.Body), MaxBytes: r.MaxBytes, HeaderOnly: r.MaxBytes == 0,
		Delay: r.Delay, InsecureTLS: r.InsecureTLS, Robots: r.Robots,
	})
	if fault, ok := errors.AsType[*fetch.Fault](err); ok && r.Cut && fault.Kind == fetch.TooLarge && fault.Code != 0 && fault.Partial != nil {
		a, err = fault.Partial, nil
	}
	if err != nil {
		return remote.Answer{}, err
	}
	return remote.Answer{URL: a.FinalURL, Code: a.Code, Body: a.Body}, nil
}
