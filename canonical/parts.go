package canonical

import "strings"

// Host returns the host by which politeness counts: lower case, without user and password,
// with ":port" unless it is the scheme's default port. So http and https of one name are
// one host. It returns "" if the URL, canonical or nearly so, has no authority.
func Host(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	host := rest
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		host = rest[:i]
	}
	host = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
	switch strings.ToLower(scheme) {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return host
}

// URL is a canonical URL in its parts, as its text has them: escapes stay, and so does a percent sign
// that begins none. Unlike net/url it has no text that it refuses.
type URL struct {
	Scheme string
	User   string // user and password, before "@"
	Host   string // with ":port" unless it is the default port; an IPv6 address has brackets
	Path   string // begins with "/"; empty only without a host
	Query  string // without "?"
}

// WithoutFragment returns a URL up to its "#".
func WithoutFragment(url string) string {
	before, _, _ := strings.Cut(url, "#")
	return before
}

// Split returns the parts of a canonical URL, or of one that is nearly so. The fragment is dropped.
func Split(text string) (u URL) {
	text, u.Query, _ = strings.Cut(WithoutFragment(text), "?")
	var found bool
	if u.Scheme, text, found = strings.Cut(text, "://"); !found {
		u.Scheme, u.Path, _ = strings.Cut(u.Scheme, ":")
		return u
	}
	u.Host, u.Path, _ = strings.Cut(text, "/")
	u.Path = "/" + u.Path
	if at := strings.LastIndexByte(u.Host, '@'); at >= 0 {
		u.User, u.Host = u.Host[:at], u.Host[at+1:]
	}
	return u
}

// String returns the text that Split has read, without its fragment.
func (u URL) String() string {
	if u.Host == "" && !strings.HasPrefix(u.Path, "/") {
		return u.Scheme + ":" + u.Request()
	}
	user := u.User
	if user != "" {
		user += "@"
	}
	return u.Scheme + "://" + user + u.Host + u.Request()
}

// Request returns path and query, as a request line has them.
func (u URL) Request() string {
	if u.Query == "" {
		return u.Path
	}
	return u.Path + "?" + u.Query
}

// Origin returns the URL of the host, without a slash at its end.
func (u URL) Origin() string { return u.Scheme + "://" + u.Host }

// Hostname returns the host without its port and without brackets.
func (u URL) Hostname() string {
	host := strings.TrimSuffix(u.Host, ":"+u.Port())
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// Port returns the port that the URL states, "" without one.
func (u URL) Port() string {
	at := strings.LastIndexByte(u.Host, ':')
	if at < 0 || strings.HasSuffix(u.Host, "]") {
		return ""
	}
	return u.Host[at+1:]
}

// Unescape returns a part with its escapes decoded. A percent sign that begins no escape stays. The
// result may be no valid UTF-8.
func Unescape(part string) string {
	if !strings.Contains(part, "%") {
		return part
	}
	to := make([]byte, 0, len(part))
	for i := 0; i < len(part); i++ {
		if part[i] == '%' && isEscape(part[i:]) {
			to = append(to, byte(hexDigit(part[i+1])<<4|hexDigit(part[i+2])))
			i += 2
			continue
		}
		to = append(to, part[i])
	}
	return string(to)
}

func hexDigit(c byte) int {
	if 'A' <= c && c <= 'F' {
		c += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", c)
}
