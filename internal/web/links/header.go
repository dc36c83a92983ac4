package links

import "strings"

const (
	// maxHeader bounds the total bytes of the Link headers that are read.
	maxHeader = 64 << 10

	// maxHeaderLinks bounds the links in them.
	maxHeaderLinks = 1000
)

// Header returns the links of a response's Link headers, given their raw values. Each URL
// occurs once; Tag is "header" and Attr "link". URLs are relative to the URL of the page,
// not to its base element. Header skips pure connection hints (preconnect, dns-prefetch)
// and the rest of a value after a syntax error. It reads at most 64 KiB and 1000 links.
// Source: RFC 8288, 3 and B.2.
func Header(values []string) []Link {
	var (
		list []Link
		seen = map[string]bool{}
		room = maxHeader
	)
	for _, value := range values {
		if len(value) > room {
			value = value[:room]
		}
		room -= len(value)
		for value != "" && len(list) < maxHeaderLinks {
			var l Link
			var ok bool
			if l, value, ok = headerLink(value); !ok {
				break
			}
			if l.URL = cleanURL(l.URL); isFetchable(l.URL) && !isConnectOnly(l.Rel) && !seen[l.URL] {
				seen[l.URL] = true
				list = append(list, l)
			}
		}
	}
	return list
}

// Addresses returns the links of a response's Refresh and Content-Location headers, given their
// raw values. Tag is "header", Attr the name of the header. URLs are relative to the URL of the
// page. It reads at most ten values of each. Source: HTML standard 7.4.6.1 (shared declarative
// refresh steps), RFC 9110 8.7.
func Addresses(refreshes, locations []string) []Link {
	var list []Link
	add := func(attr, url string) {
		if url = cleanURL(url); isFetchable(url) {
			list = append(list, Link{URL: url, Tag: "header", Attr: attr})
		}
	}
	for _, value := range refreshes[:min(len(refreshes), maxAddresses)] {
		add("refresh", refreshURL(value))
	}
	for _, value := range locations[:min(len(locations), maxAddresses)] {
		add("content-location", value)
	}
	return list
}

// maxAddresses bounds the values of a header with one address.
const maxAddresses = 10

// headerLink parses one link and the comma after it. ok is false on a syntax error.
func headerLink(text string) (l Link, rest string, ok bool) {
	text = strings.TrimLeft(text, " \t,")
	if !strings.HasPrefix(text, "<") {
		return l, "", false
	}
	url, text, closed := strings.Cut(text[1:], ">")
	if !closed {
		return l, "", false
	}
	l = Link{URL: url, Tag: "header", Attr: "link"}
	hasRel := false
	for {
		text = strings.TrimLeft(text, " \t")
		if !strings.HasPrefix(text, ";") {
			break
		}
		var name, value string
		name, value, text = parseParameter(text[1:])
		if !hasRel && strings.EqualFold(name, "rel") { // the first one counts
			l.Rel, hasRel = strings.ToLower(strings.TrimSpace(value)), true
		}
	}
	// Ignore invalid text before the next comma.
	_, rest, _ = strings.Cut(text, ",")
	return l, rest, true
}

// parseParameter parses name=value, name="value" or name.
func parseParameter(text string) (name, value, rest string) {
	end := strings.IndexAny(text, "=;,")
	if end < 0 {
		return strings.TrimSpace(text), "", ""
	}
	name = strings.TrimSpace(text[:end])
	if text[end] != '=' {
		return name, "", text[end:]
	}
	text = strings.TrimLeft(text[end+1:], " \t")
	if !strings.HasPrefix(text, `"`) {
		end = strings.IndexAny(text, ";,")
		if end < 0 {
			end = len(text)
		}
		return name, strings.TrimSpace(text[:end]), text[end:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return name, b.String(), text[i+1:]
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return name, b.String(), "" // unterminated
}

// isConnectOnly reports whether rel only asks for a connection.
func isConnectOnly(rel string) bool {
	words := 0
	for word := range strings.FieldsSeq(rel) {
		if words++; word != "preconnect" && word != "dns-prefetch" {
			return false
		}
	}
	return words > 0
}
