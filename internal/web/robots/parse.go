package robots

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// group holds the rules for one agent, from all places of the file that name it. Source:
// RFC 9309 2.2.1.
type group struct {
	blocks   []*block
	delay    time.Duration
	hasDelay bool
}

// block holds the rules below one list of agents, which share it. So memory grows with the
// file, not with agents times rules.
type block struct{ rules []*rule }

// Parse parses at most MaxBody bytes of a robots.txt. It ignores invalid lines and a
// leading byte order mark. CR, LF or CRLF end a line; "#" begins a comment. Source: RFC
// 9309 2.2, 2.4.
func Parse(body []byte) *Rules {
	p := parser{rules: &Rules{groups: make(map[string]*group)}}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(body) > MaxBody {
		body = body[:MaxBody]
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body))
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		p.line(number, line)
	}
	return p.rules
}

// parser parses line by line. block receives the next rule. closed says that a rule has
// ended the list of agents. pending are the agents of the list without a delay.
type parser struct {
	rules   *Rules
	block   *block
	closed  bool
	pending []*group
}

func (p *parser) line(number int, text string) {
	text, _, _ = strings.Cut(text, "#")
	key, value, ok := strings.Cut(text, ":")
	if !ok {
		return
	}
	value = strings.TrimSpace(value)
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "user-agent", "useragent":
		p.agent(value)
	case "allow":
		p.rule(number, true, value)
	case "disallow":
		p.rule(number, false, value)
	case "crawl-delay":
		p.delay(value)
	case "sitemap":
		s := &p.rules.sitemaps
		if value != "" && len(value) <= maxSitemap && len(*s) < maxSitemaps && !slices.Contains(*s, value) {
			*s = append(*s, value)
		}
	}
}

func (p *parser) agent(value string) {
	if p.block == nil || p.closed {
		p.block, p.pending, p.closed = &block{}, nil, false
	}
	name := "*"
	if !strings.HasPrefix(value, "*") {
		if name = productToken(value); name == "" {
			return
		}
	}
	g := p.rules.groups[name]
	if g == nil {
		g = &group{}
		p.rules.groups[name] = g
	}
	if n := len(g.blocks); n == 0 || g.blocks[n-1] != p.block {
		g.blocks = append(g.blocks, p.block)
	}
	p.pending = append(p.pending, g)
}

func (p *parser) rule(number int, allow bool, value string) {
	p.closed = true // an empty rule also ends the list of agents
	if value == "" || value[0] != '/' && value[0] != '*' || p.block == nil {
		return
	}
	p.block.rules = append(p.block.rules, newRule(number, allow, value))
}

func (p *parser) delay(value string) {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds >= 0) {
		return
	}
	d := time.Duration(min(seconds, maxDelay.Seconds()) * float64(time.Second))
	for _, g := range p.pending {
		if !g.hasDelay || d > g.delay {
			g.delay, g.hasDelay = d, true
		}
	}
	p.pending = nil
}

// productToken returns the product token at the start of text, in lower case.
func productToken(text string) string {
	n := 0
	for n < len(text) && inToken(text[n]) {
		n++
	}
	return strings.ToLower(text[:n])
}

func inToken(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// products yields the product tokens of a User-Agent, in lower case: the first word, and
// each word before a "/" that is not part of a URL.
func products(agent string) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := true
		for i := 0; i < len(agent); {
			name := productToken(agent[i:])
			if name == "" {
				i++
				continue
			}
			end := i + len(name)
			whole := i == 0 || strings.IndexByte(" ;(,", agent[i-1]) >= 0
			version := end < len(agent) && agent[end] == '/'
			if whole && (first || version) && !yield(name) {
				return
			}
			first = false
			i = end
		}
	}
}
