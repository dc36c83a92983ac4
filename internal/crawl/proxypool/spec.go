package proxypool

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

const (
	maxProxies  = 1000
	maxDomains  = 100 // of one proxy
	maxPatterns = 100
	maxTries    = 100
	maxChecked  = 1 << 20 // bytes of a page

	defaultTries    = 1
	defaultPriority = 10
	defaultStatus   = 4 // of a URL that no proxy fetched
)

// Spec is a value of USER_PROXY. The zero value uses no proxy.
type Spec struct {
	// WithTable adds the rows of sites_proxy with State 1 for the site or for all sites.
	WithTable bool

	// Tries is the number of proxies tried after the first one, 0 to 100.
	Tries int

	// StatusEmpty, StatusNone and StatusTries are the Status, 1 to 7, of a URL if the pool
	// is empty, no proxy is available, or all tries failed.
	StatusEmpty, StatusNone, StatusTries int

	used     bool
	filePath string
	entries  []entry
	content  contentCheck
}

// contentCheck recognises content that a proxy sends instead of the page.
type contentCheck struct {
	patterns       []*pyregexp.Regexp
	rotate, faults bool
}

// Used reports whether requests use a proxy.
func (s Spec) Used() bool { return s.used }

// Attempts returns how many proxies one URL may use: the first one and Tries.
func (s Spec) Attempts() int { return s.Tries + 1 }

// Rotates reports whether the first MiB of body shows that the proxy was refused. rotate
// means that the next proxy must be tried, fault that this one has a fault.
func (s Spec) Rotates(body []byte) (rotate, fault bool) {
	if len(s.content.patterns) == 0 {
		return false, false
	}
	text := string(body[:min(len(body), maxChecked)])
	for _, p := range s.content.patterns {
		if p.MatchString(text) {
			return s.content.rotate, s.content.faults
		}
	}
	return false, false
}

// Parse parses USER_PROXY:
//
//	{"source": 0 or 1, "file_path": text, "tries_count": 1,
//	 "status_update_empty_proxy_list": 4, "status_update_no_available_proxy": 4,
//	 "status_update_tries_limit": 4,
//	 "proxies": {host: {"host": text, "domains": ["*"], "priority": 10, "state": 1}},
//	 "raw_content_check": {"patterns": [regex], "rotate": 1, "faults": 1}}
//
// null means no proxy. A status other than 1 to 7 counts as 4. Expressions have no
// look-around and no back-references. Errors are meant to follow "property USER_PROXY " and
// contain no password.
func Parse(text string) (Spec, error) {
	if strings.TrimSpace(text) == "null" {
		return Spec{}, nil
	}
	v := struct {
		Source   prop.Int     `json:"source"`
		FilePath string       `json:"file_path"`
		Tries    prop.Int     `json:"tries_count"`
		Empty    prop.Int     `json:"status_update_empty_proxy_list"`
		None     prop.Int     `json:"status_update_no_available_proxy"`
		Limit    prop.Int     `json:"status_update_tries_limit"`
		Proxies  prop.Members `json:"proxies"`
		Content  *rawContent  `json:"raw_content_check"`
	}{Tries: defaultTries}
	if err := prop.Decode(text, &v); err != nil {
		return Spec{}, err
	}
	s := Spec{
		WithTable: v.Source == 1, Tries: int(min(max(v.Tries, 0), maxTries)),
		StatusEmpty: statusOrDefault(v.Empty), StatusNone: statusOrDefault(v.None), StatusTries: statusOrDefault(v.Limit),
		used: true, filePath: strings.TrimSpace(v.FilePath),
	}
	if len(v.Proxies) > maxProxies {
		return Spec{}, fmt.Errorf("has %d proxies; expected at most %d", len(v.Proxies), maxProxies)
	}
	for _, m := range v.Proxies {
		e, err := readEntry(m.Name, m.Value)
		if err != nil {
			return Spec{}, err
		}
		s.entries = append(s.entries, e)
	}
	var err error
	s.content, err = v.Content.compileCheck()
	if err != nil {
		return Spec{}, err
	}
	return s, nil
}

// Fixed returns the Spec of HTTP_PROXY_HOST and HTTP_PROXY_PORT: one proxy for all URLs.
// host may have any form of ParseAddress; port is added if it has none. An empty host means
// no proxy.
func Fixed(host, port string) (Spec, error) {
	host, port = strings.TrimSpace(host), strings.TrimSpace(port)
	if host == "" {
		return Spec{}, nil
	}
	u, err := ParseAddress(host)
	if err != nil && port != "" {
		host += ":" + port
		u, err = ParseAddress(host)
	}
	if err != nil {
		return Spec{}, err
	}
	return Spec{
		Tries: 0, StatusEmpty: defaultStatus, StatusNone: defaultStatus, StatusTries: defaultStatus, used: true,
		entries: []entry{{host: host, address: u, priority: defaultPriority, state: 1}},
	}, nil
}

func statusOrDefault(n prop.Int) int {
	if n < 1 || n > 7 {
		return defaultStatus
	}
	return int(n)
}

// rawContent is raw_content_check as written.
type rawContent struct {
	Patterns prop.Texts `json:"patterns"`
	Rotate   *prop.Bool `json:"rotate"`
	Faults   *prop.Bool `json:"faults"`
}

func (r *rawContent) compileCheck() (contentCheck, error) {
	if r == nil {
		return contentCheck{}, nil
	}
	c := contentCheck{rotate: r.Rotate == nil || bool(*r.Rotate), faults: r.Faults == nil || bool(*r.Faults)}
	if len(r.Patterns) > maxPatterns {
		return c, fmt.Errorf("has %d patterns; expected at most %d", len(r.Patterns), maxPatterns)
	}
	for _, text := range r.Patterns {
		if text == "" {
			continue // it would match every page
		}
		re, err := pyregexp.Compile(text)
		if err != nil {
			return c, fmt.Errorf("has a pattern that is not a regular expression: %w", err)
		}
		c.patterns = append(c.patterns, re)
	}
	return c, nil
}

// AliveCheck is a value of HOST_ALIVE_CHECK or HOST_ALIVE_CHECK_PROXY: a check before a
// host or a proxy is used. The zero value checks nothing.
type AliveCheck struct {
	Resolve bool          // look up its name
	Connect bool          // connect to one of its addresses
	Timeout time.Duration // for both together; at most one minute
}

// ParseAliveCheck parses {"method": 0, "domain_name_resolve": 0/1, "connect_resolve": 0/1,
// "connection_timeout": seconds}. The timeout defaults to half a second. Errors are meant
// to follow "property NAME ".
func ParseAliveCheck(text string) (AliveCheck, error) {
	v := struct {
		Method  prop.Int   `json:"method"`
		Resolve prop.Bool  `json:"domain_name_resolve"`
		Connect prop.Bool  `json:"connect_resolve"`
		Timeout prop.Float `json:"connection_timeout"`
	}{Timeout: 0.5}
	if err := prop.Decode(text, &v); err != nil {
		return AliveCheck{}, err
	}
	if v.Method != 0 {
		return AliveCheck{}, fmt.Errorf("has the unknown method %d; want 0", v.Method)
	}
	if v.Timeout <= 0 || v.Timeout > 60 {
		return AliveCheck{}, errors.New("has an invalid connection_timeout; want more than 0 and at most 60 seconds")
	}
	return AliveCheck{
		Resolve: bool(v.Resolve || v.Connect), Connect: bool(v.Connect),
		Timeout: time.Duration(float64(v.Timeout) * float64(time.Second)),
	}, nil
}

// On reports whether there is anything to check.
func (c AliveCheck) On() bool { return c.Resolve || c.Connect }

// entry is one proxy of a pool.
type entry struct {
	host      string // its name, and its address unless the member "host" has one
	address   *url.URL
	written   []string           // the domains as written
	domains   []*pyregexp.Regexp // the compiled domains; empty means all
	priority  int64
	state     int64
	freq      int64
	faults    int64
	faultsMax int64
	source    string // fromProperty, fromTable, or "" if written by hand
	revived   bool   // enabled again by the operator; not in the index yet
	rowSite   string // site of the row with this host, or ""
}

// readEntry parses a proxy of the property or the index file.
func readEntry(name string, raw json.RawMessage) (entry, error) {
	v := struct {
		Host      string     `json:"host"`
		Domains   prop.Texts `json:"domains"`
		Priority  prop.Int   `json:"priority"`
		State     prop.Int   `json:"state"`
		Freq      prop.Int   `json:"freq"`
		Faults    prop.Int   `json:"faults"`
		FaultsMax prop.Int   `json:"faultsMax"`
		Source    string     `json:"source"`
	}{Priority: defaultPriority, State: 1}
	if string(raw) != "null" {
		if err := prop.Decode(string(raw), &v); err != nil {
			return entry{}, err
		}
	}
	e := entry{
		host: name, priority: max(int64(v.Priority), 1), state: int64(v.State),
		freq: max(int64(v.Freq), 0), faults: max(int64(v.Faults), 0), faultsMax: max(int64(v.FaultsMax), 0),
		written: v.Domains, source: v.Source,
	}
	if strings.TrimSpace(v.Host) == "" {
		v.Host = name
	}
	var err error
	if e.address, err = ParseAddress(v.Host); err != nil {
		return entry{}, err
	}
	e.domains, err = compileDomains(v.Domains)
	return e, err
}

// compileDomains compiles the domains of a proxy. An empty result means all.
func compileDomains(list []string) ([]*pyregexp.Regexp, error) {
	if len(list) > maxDomains {
		return nil, fmt.Errorf("has a proxy with %d domains; expected at most %d", len(list), maxDomains)
	}
	var domains []*pyregexp.Regexp
	for _, text := range list {
		if text = strings.TrimSpace(text); text == "*" {
			return nil, nil
		}
		re, err := pyregexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("has a domain of a proxy that is not a regular expression: %w", err)
		}
		domains = append(domains, re)
	}
	return domains, nil
}

// servesPage reports whether the proxy is for the URL.
func (e *entry) servesPage(page string) bool {
	for _, d := range e.domains {
		if d.MatchString(page) {
			return true
		}
	}
	return len(e.domains) == 0
}
