package proxypool

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"hce/dc/internal/wire/prop"
)

// maxHost is the longest proxy address in bytes.
const maxHost = 1024

// schemes maps the types of proxies to URL schemes.
var schemes = map[string]string{"http": "http", "https": "https", "socks5": "socks5", "socks5h": "socks5"}

// ParseAddress parses `host:port`, `type://host:port` or `type://user:password@host:port`
// with the types http (the default), https and socks5. User and password may be
// percent-encoded. Errors never contain them, and are meant to follow "property NAME ".
func ParseAddress(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxHost {
		return nil, fmt.Errorf("has a proxy address of %d bytes; expected at most %d", len(text), maxHost)
	}
	scheme, rest, typed := strings.Cut(text, "://")
	if !typed {
		scheme, rest = "http", text
	}
	known, ok := schemes[strings.ToLower(scheme)]
	if !ok {
		return nil, errors.New("has a proxy of an unknown type; expected http, https or socks5")
	}
	u := &url.URL{Scheme: known}
	address := strings.TrimSuffix(rest, "/")
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		var err error
		if u.User, err = parseUser(address[:at]); err != nil {
			return nil, err
		}
		address = address[at+1:]
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("has the proxy address %q; expected host:port", prop.Clip(address))
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("has the proxy address %q with no port from 1 to 65535", prop.Clip(address))
	}
	if !validHost(host) {
		return nil, fmt.Errorf("has the proxy address %q with no valid host", prop.Clip(address))
	}
	u.Host = net.JoinHostPort(strings.ToLower(host), strconv.FormatUint(number, 10))
	return u, nil
}

func parseUser(text string) (*url.Userinfo, error) {
	name, password, has := strings.Cut(text, ":")
	for _, part := range []*string{&name, &password} {
		if plain, err := url.PathUnescape(*part); err == nil {
			*part = plain
		}
		if strings.ContainsFunc(*part, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(*part) > 255 { // limit of SOCKS
			return nil, errors.New("has a proxy whose user or password is too long or has control characters")
		}
	}
	if !has {
		return url.User(name), nil
	}
	return url.UserPassword(name, password), nil
}

// validHost accepts ASCII names and IP addresses.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && len(host) <= 253 && host[0] != '.' && !strings.Contains(host, "..") &&
		strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
}
