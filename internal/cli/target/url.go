package target

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/config"
)

// URL is a root URL.
type URL struct {
	Text string // canonical
	// Guessed means that the user gave no scheme: Text has https, and http is another possibility.
	Guessed bool
}

// HTTP returns the same address with the scheme http.
func (u URL) HTTP() URL { return URL{Text: "http" + strings.TrimPrefix(u.Text, "https")} }

// Schemes that can be crawled.
var schemes = []string{"http", "https"}

// Parse reads an address as people type it: a URL, or a host with or without port and path. The
// error names the address and says what to do.
func Parse(typed string) (URL, error) {
	text := strings.TrimSpace(typed)
	if text == "" {
		return URL{}, fmt.Errorf("URL %q is empty; give an address such as https://example.org/", typed)
	}
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return URL{}, fmt.Errorf("URL %q has a blank; write %%20 for it, or give two URLs as two arguments", typed)
	}
	scheme, rest, found := strings.Cut(text, "://")
	switch {
	case found && isScheme(scheme):
		if err := checkScheme(typed, scheme); err != nil {
			return URL{}, err
		}
		if strings.HasPrefix(rest, "/") { // a browser would take the first folder for the host
			return URL{}, fmt.Errorf("URL %q has no host behind %s://; did you mean %s://%s?", typed, scheme, scheme, strings.TrimLeft(rest, "/"))
		}
	case schemeWithoutSlashes(text) != "":
		name := schemeWithoutSlashes(text)
		return URL{}, fmt.Errorf("URL %q has no two slashes after %s:; did you mean %s://%s?", typed, name, name, strings.TrimLeft(text[len(name)+1:], "/"))
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."):
		return URL{}, fmt.Errorf("URL %q has no host; give an address such as https://example.org/, or serve the folder", typed)
	case otherScheme(text) != "":
		return URL{}, checkScheme(typed, otherScheme(text))
	default:
		found, text = false, "https://"+text
	}
	return parseURL(typed, text, !found)
}

func parseURL(typed, text string, guessed bool) (URL, error) {
	href, err := canonical.Canonical(text)
	if err != nil {
		return URL{}, fmt.Errorf("URL %q is not valid: %w", typed, err)
	}
	if href = canonical.WithoutFragment(href); canonical.Host(href) == "" {
		return URL{}, fmt.Errorf("URL %q has no host; give an address such as https://example.org/", typed)
	}
	if u, err := canonical.Net(href); err == nil && u.User != nil {
		return URL{}, fmt.Errorf("URL %q has a user name; use the properties HTTP_AUTH_NAME and HTTP_AUTH_PWD of the site", u.Redacted())
	}
	return URL{Text: href, Guessed: guessed}, nil
}

// isScheme reports whether text can be the name of a scheme.
func isScheme(text string) bool {
	return text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// schemeWithoutSlashes returns http or https of "http:example.org" and "http:/example.org".
func schemeWithoutSlashes(text string) string {
	for _, name := range schemes {
		if strings.HasPrefix(strings.ToLower(text), name+":") {
			return name
		}
	}
	return ""
}

// otherScheme returns the scheme of an address such as "mailto:me@example.org", "" for a host with a
// port.
func otherScheme(text string) string {
	name, rest, found := strings.Cut(text, ":")
	if !found || !isScheme(name) || strings.Contains(name, ".") || rest == "" || rest[0] >= '0' && rest[0] <= '9' {
		return ""
	}
	return name
}

func checkScheme(typed, scheme string) error {
	lower := strings.ToLower(scheme)
	if lower == "http" || lower == "https" {
		return nil
	}
	hint := "only http and https can be crawled"
	if near := config.Nearest(lower, schemes); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Errorf("URL %q has the scheme %s; %s", typed, scheme, hint)
}

// Private reports whether the host of a URL is an address that the crawler refuses unless it is
// allowed: loopback, private, link-local, or the name localhost. Other names are not resolved.
func Private(text string) bool {
	host := Hostname(text)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsUnspecified())
}

// Meant returns the canonical URLs that a typed address may mean, nil if it means no URL: without a scheme, that
// with https and that with http.
func Meant(typed string) []string {
	u, err := Parse(typed)
	switch {
	case err != nil:
		return nil
	case u.Guessed:
		return []string{u.Text, u.HTTP().Text}
	}
	return []string{u.Text}
}

// Hostname returns the host of a URL without port and brackets.
func Hostname(text string) string {
	u, err := canonical.Net(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// HostPort returns the address to connect to.
func HostPort(text string) string {
	u, err := canonical.Net(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	switch {
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
