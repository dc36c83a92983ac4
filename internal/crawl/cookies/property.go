package cookies

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/wire/prop"
)

// Stage is the purpose of a request, a bit of the property's "stage".
type Stage int

// The stages of HTTP_COOKIE.
const (
	Links  Stage = 1 // requests for collected links: HEAD, resolver
	Page   Stage = 2 // the page and its redirects
	Robots Stage = 4
	Feed   Stage = 8

	allStages = Links | Page | Robots | Feed
)

const (
	maxText    = 16 << 10 // bytes of a cookie text
	maxDomains = 1000     // domains of one property
)

// anyDomain is the key of the entry for all other domains.
const anyDomain = ".*"

// Property is a value of HTTP_COOKIE. The zero value adds no cookies and allows the jar's
// cookies at all stages.
type Property struct{ entries map[string]entry }

// entry is the setting of one domain, or of all others.
type entry struct {
	stages Stage
	cookie string
}

// ParseProperty parses HTTP_COOKIE: a cookie text such as "a=b; c=d", for all hosts and
// stages, or {"domain or .*": {"stage": bits, "cookie": text}}. The stage defaults to 15,
// and a string may replace the inner object. A text that starts with { is an object. An
// empty text is the zero Property. Errors are meant to follow "property HTTP_COOKIE "; the
// Property is the zero one then.
func ParseProperty(text string) (Property, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Property{}, nil
	}
	if text[0] != '{' {
		if err := checkText(text); err != nil {
			return Property{}, err
		}
		return Property{map[string]entry{anyDomain: {allStages, text}}}, nil
	}
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return Property{}, err
	}
	if len(members) > maxDomains {
		return Property{}, fmt.Errorf("has %d domains; expected at most %d", len(members), maxDomains)
	}
	p := Property{make(map[string]entry, len(members))}
	for _, m := range members {
		e, err := parseEntry(m.Value)
		if err != nil {
			return Property{}, fmt.Errorf("has for the domain %q an entry that %w", prop.Clip(m.Name), err)
		}
		p.entries[domainKey(m.Name)] = e
	}
	return p, nil
}

func parseEntry(raw json.RawMessage) (entry, error) {
	v := struct {
		Stage  prop.Int        `json:"stage"`
		Cookie json.RawMessage `json:"cookie"`
	}{Stage: prop.Int(allStages)}
	if raw[0] == '{' {
		if err := prop.Decode(string(raw), &v); err != nil {
			return entry{}, err
		}
	} else {
		v.Cookie = raw
	}
	if v.Stage < 0 {
		return entry{}, fmt.Errorf(`has %d at "stage"; expected a sum of 1, 2, 4 and 8`, v.Stage)
	}
	e := entry{stages: Stage(v.Stage) & allStages}
	if len(v.Cookie) == 0 || string(v.Cookie) == "null" {
		return e, nil // only the stages of the jar's cookies are set
	}
	text, err := prop.Text(v.Cookie)
	if err != nil {
		return entry{}, err
	}
	e.cookie = strings.TrimSpace(text)
	return e, checkText(e.cookie)
}

// checkText refuses texts that a request cannot carry.
func checkText(text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("has a cookie text of %d bytes; expected at most %d", len(text), maxText)
	case strings.ContainsFunc(text, isControl):
		return errors.New("has a cookie text with line breaks or control characters, which cannot be sent")
	}
	return nil
}

// isControl reports whether a header field cannot contain r.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// Text returns the cookies that the property adds for host at a stage. ok is false if the
// property forbids all cookies at that stage, including the jar's. The entry of the host
// decides, else that of the nearest parent domain with at least two labels, else ".*".
func (p Property) Text(stage Stage, host string) (cookie string, ok bool) {
	e, found := p.findEntry(cleanHost(host))
	switch {
	case !found:
		return "", true
	case e.stages&stage == 0:
		return "", false
	}
	return e.cookie, true
}

func (p Property) findEntry(host string) (e entry, found bool) {
	for domain := host; ; {
		if e, found = p.entries[domain]; found {
			return e, true
		}
		_, parent, _ := strings.Cut(domain, ".")
		if isIP(host) || !strings.Contains(parent, ".") {
			e, found = p.entries[anyDomain]
			return e, found
		}
		domain = parent
	}
}

// domainKey returns the canonical form of a domain of the property.
func domainKey(name string) string {
	name = strings.TrimSpace(name)
	if name == anyDomain || name == "*" {
		return anyDomain
	}
	return cleanHost(strings.TrimPrefix(name, "."))
}

// cleanHost returns host in lower case, without brackets and final dot.
func cleanHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// FirstLine returns the first line of a cookie file that is not empty and not a comment.
func FirstLine(text string) string {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
