package target

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"hce/dc/canonical"
	"hce/dc/internal/config"
	"hce/dc/internal/web/filter"
)

// Scope is how far a crawl goes from its root URLs.
type Scope string

// Scopes.
const (
	Host   Scope = "host"   // the hosts of the root URLs, with or without www.
	Domain Scope = "domain" // their registered domains with all sub-domains
	Prefix Scope = "prefix" // the folders of the root URLs
	Any    Scope = "any"    // every host
)

// Scopes are the names of all scopes.
var Scopes = []string{string(Host), string(Domain), string(Prefix), string(Any)}

// ParseScope reads a scope.
func ParseScope(text string) (Scope, error) {
	if slices.Contains(Scopes, text) {
		return Scope(text), nil
	}
	return "", fmt.Errorf("scope %q is not one of %s%s", text, strings.Join(Scopes, ", "), config.Suggestion(config.Nearest(text, Scopes)))
}

// Limits say which links a crawl follows.
type Limits struct {
	Scope            Scope
	Include, Exclude []string // patterns
	Depth            int      // links from a root URL; below 0: no limit
}

// Filter is a rule of SITE_NEW (docs/spec/objects.md 2.3). It applies to links and redirects only:
// at stage 5, the default, it would also keep pages from being processed, such as root URLs that no
// include pattern matches.
type Filter struct {
	Pattern string `json:"pattern"`
	Stage   int    `json:"stage"` // filter.StageLinks
	Type    int    `json:"type"`  // 1 include, 0 exclude
	Subject string `json:"subject,omitempty"`
	OpCode  int    `json:"opCode,omitempty"`
	GroupID int    `json:"groupId,omitempty"`
}

// Filters returns the rules for root URLs, which are canonical. A link is followed if it is in the
// scope, matches an include pattern if there is one, matches no exclude pattern, and is not too deep.
func Filters(roots []string, l Limits) ([]Filter, error) {
	within, err := scopeExpression(roots, l.Scope)
	if err != nil {
		return nil, err
	}
	include, err := anyOf(l.Include)
	if err != nil {
		return nil, &PatternError{"include", err}
	}
	var list []Filter
	switch {
	case within != "" && include != "": // both: a group
		list = append(list, Filter{Pattern: within, Type: 1, GroupID: 1}, Filter{Pattern: include, Type: 1, GroupID: 1})
	case within+include != "":
		list = append(list, Filter{Pattern: within + include, Type: 1})
	}
	for _, pattern := range l.Exclude {
		expression, err := Expression(pattern)
		if err != nil {
			return nil, &PatternError{"exclude", err}
		}
		list = append(list, Filter{Pattern: expression})
	}
	if l.Depth >= 0 {
		list = append(list, Filter{Subject: strconv.Itoa(l.Depth), OpCode: filter.OpGreater, Pattern: "%MAX_DEPTH%", Type: 1})
	}
	return list, nil
}

// PatternError says that a pattern cannot be read.
type PatternError struct {
	List string // include or exclude
	Err  error
}

// Error names the option of the pattern.
func (p *PatternError) Error() string { return "--" + p.List + ": " + p.Err.Error() }

// Unwrap returns the reason.
func (p *PatternError) Unwrap() error { return p.Err }

// Matcher returns the function that reports whether a crawl follows a link at a depth: what Filters do.
func Matcher(roots []string, l Limits) (func(link string, depth int) bool, error) {
	list, err := Filters(roots, l)
	if err != nil {
		return nil, err
	}
	var rules []filter.Rule
	for _, f := range list {
		rules = append(rules, filter.Rule{Pattern: f.Pattern, Subject: f.Subject, OpCode: f.OpCode, Type: f.Type, Stage: f.Stage, State: 1, Group: f.GroupID})
	}
	set, problems := filter.Compile(rules)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return func(link string, depth int) bool {
		return set.Accept(filter.StageLinks, link, filter.Env{Depth: depth})
	}, nil
}

// anyOf returns one expression for several patterns, "" for none.
func anyOf(patterns []string) (string, error) {
	list := make([]string, len(patterns))
	for i, pattern := range patterns {
		expression, err := Expression(pattern)
		if err != nil {
			return "", err
		}
		list[i] = expression
	}
	return joinAlternatives(list), nil
}

func joinAlternatives(list []string) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	}
	return "(?:" + strings.Join(list, ")|(?:") + ")"
}

// scopeExpression matches the URLs of a scope; "" matches all.
func scopeExpression(roots []string, scope Scope) (string, error) {
	if scope == Any {
		return "", nil
	}
	var list []string
	for _, root := range roots {
		u, err := canonical.Net(root)
		if err != nil {
			return "", fmt.Errorf("URL %q is not valid: %w", root, err)
		}
		if text := rootExpression(u, scope); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return joinAlternatives(list), nil
}

func rootExpression(u *url.URL, scope Scope) string {
	port := ""
	if u.Port() != "" {
		port = ":" + u.Port()
	}
	name, host := u.Hostname(), u.Hostname()
	if strings.Contains(name, ":") { // IPv6
		host = "[" + name + "]"
	}
	www := `^https?://(?:www\.)?` + regexp.QuoteMeta(strings.TrimPrefix(host, "www.")+port)
	switch scope {
	case Domain:
		if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil && !isAddress(name) {
			return `^https?://(?:[^/?#@]+\.)?` + regexp.QuoteMeta(domain) + `(?::\d+)?(?:[/?#]|$)`
		}
		return www + `(?:[/?#]|$)`
	case Prefix:
		path := u.EscapedPath()
		return www + regexp.QuoteMeta(path[:strings.LastIndexByte(path, '/')+1])
	}
	return www + `(?:[/?#]|$)`
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
