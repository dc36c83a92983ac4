package robots

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
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

// Parse parses at most MaxBody bytes of a robots.txt in UTF-8, or in UTF-16 with a byte order
// mark. It ignores invalid lines and the mark. CR, LF or CRLF end a line; "#" begins a comment.
// Source: RFC 9309 2.2, 2.4.
func Parse(body []byte) *Rules {
	p := parser{rules: &Rules{groups: make(map[string]*group)}}
	cut := len(body) > MaxBody
	body = decodeBody(body[:min(len(body), MaxBody)])
	if cut {
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body))
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		p.parseLine(number, line)
	}
	return p.rules
}

// decodeBody removes the byte order mark from body, and converts UTF-16 to UTF-8.
func decodeBody(body []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	}
	units := make([]uint16, 0, len(body)/2)
	for body = body[2:]; len(body) >= 2; body = body[2:] {
		units = append(units, order.Uint16(body))
	}
	return []byte(string(utf16.Decode(units)))
}

// parser parses line by line. block receives the next rule. closed says that a rule has
// ended the list of agents. pending are the agents of the list without a delay.
type parser struct {
	rules   *Rules
	block   *block
	closed  bool
	pending []*group
}

func (p *parser) parseLine(number int, text string) {
	key, value, ok := splitField(text)
	if !ok {
		return
	}
	switch {
	case beginsWithAny(key, "user-agent", "useragent", "user agent"):
		p.addAgent(value)
	case beginsWithAny(key, "allow"):
		p.addRule(number, true, value)
	case beginsWithAny(key, "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
		p.addRule(number, false, value)
	case beginsWithAny(key, "crawl-delay", "crawldelay", "crawl delay"):
		p.setDelay(value)
	case beginsWithAny(key, "sitemap", "site-map"):
		s := &p.rules.sitemaps
		if value != "" && len(value) <= maxSitemap && len(*s) < maxSitemaps && !slices.Contains(*s, value) {
			*s = append(*s, value)
		}
	}
}

// splitField splits a line into its key and value. Without a colon, a line of two words is a key and
// its value.
func splitField(text string) (key, value string, ok bool) {
	text, _, _ = strings.Cut(text, "#")
	if key, value, ok = strings.Cut(text, ":"); ok {
		return strings.TrimSpace(key), strings.TrimSpace(value), true
	}
	words := strings.Fields(text)
	if len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

// beginsWithAny reports whether key begins with one of the names, in any case.
func beginsWithAny(key string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return len(key) >= len(name) && strings.EqualFold(key[:len(name)], name)
	})
}

// addAgent adds an agent to the current list. "*" names all agents only alone or before a space: a
// pattern such as "*bot*" names no agent.
func (p *parser) addAgent(value string) {
	if p.block == nil || p.closed {
		p.block, p.pending, p.closed = &block{}, nil, false
	}
	name := productToken(value)
	if value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t") {
		name = "*"
	}
	if name == "" {
		return
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

func (p *parser) addRule(number int, allow bool, value string) {
	p.closed = true // an empty rule also ends the list of agents
	if value == "" || value[0] != '/' && value[0] != '*' || p.block == nil {
		return
	}
	p.block.rules = append(p.block.rules, newRule(number, allow, value))
}

func (p *parser) setDelay(value string) {
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

// Names returns the product tokens of User-Agents, each once, as one agent for the functions of this
// package. The most specific group of any of them decides.
func Names(agents ...string) string {
	var names []string
	for _, agent := range agents {
		for name := range productTokens(agent) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, "/ ") + "/"
}

// productTokens yields the product tokens of a User-Agent, in lower case: the first word, and
// each word before a "/" that is not part of a URL.
func productTokens(agent string) iter.Seq[string] {
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
