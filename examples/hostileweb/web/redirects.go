package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"hce/dc/internal/wire/errormask"
)

// redirectTraps lead in loops, to forbidden targets, or nowhere.
func redirectTraps() []Trap {
	guard := listMasks(errormask.Guard | errormask.Connection)
	nowhere := listMasks(errormask.BadRedirection)
	many := listMasks(errormask.MaxHTTPRedirects)
	list := []Trap{
		{Path: "/redirect/self", What: "to itself", Ends: many, serve: redirectTo("/redirect/self")},
		{Path: "/redirect/loop/a", What: "to a page that leads back", Ends: many, serve: redirectTo("/redirect/loop/b")},
		{Path: "/redirect/loop/b", What: "the other half of that loop", Ends: many, serve: redirectTo("/redirect/loop/a")},
		{Path: "/redirect/endless", What: "always to the next number", Ends: many, serve: func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.FormValue("n"))
			redirectTo(fmt.Sprint("/redirect/endless?n=", n+1))(w, r)
		}},
		{Path: "/redirect/growing", What: "always to a URL twice as long", Ends: many, serve: func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.RawQuery
			redirectTo("/redirect/growing?"+(q + q + "grow")[:min(len(q)*2+4, 60_000)])(w, r)
		}},
		{Path: "/redirect/cookies", What: "to itself, each time with another cookie", Ends: many, serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Set-Cookie", fmt.Sprintf("c%d=x", len(r.Cookies())))
			redirectTo("/redirect/cookies")(w, r)
		}},
		{Path: "/redirect/none", What: "without a target", Ends: nowhere, serve: redirectTo("")},
		{Path: "/redirect/long", What: "to a URL of 100 KB", Ends: nowhere, serve: redirectTo("/" + strings.Repeat("long", 25_000))},
		{Path: "/redirect/broken", What: "to an invalid URL", Ends: nowhere, serve: redirectTo("http://[::1")},
		{Path: "/redirect/port", What: "to port 99999", Ends: nowhere, serve: redirectTo("http://127.0.0.1:99999/")},
		{Path: "/redirect/file", What: "to a file of the machine", Ends: nowhere, serve: redirectTo("file:///etc/passwd")},
		{Path: "/redirect/script", What: "to a script", Ends: nowhere, serve: redirectTo("javascript:alert(1)")},
		{Path: "/redirect/gopher", What: "to another protocol", Ends: nowhere, serve: redirectTo("gopher://127.0.0.1:6379/_FLUSHALL")},
		{Path: "/redirect/endless-body", What: "to a page, with a body that never ends", serve: sendThenFlood("HTTP/1.1 302 Found\r\nLocation: /body/nul\r\nContent-Type: text/html\r\n\r\n", "moving on ")},
		{Path: "/redirect/silent-body", What: "to a page, with a body that never comes", serve: sendThenStall("HTTP/1.1 302 Found\r\nLocation: /body/nul\r\nContent-Length: 100\r\n\r\n")},
		{Path: "/redirect/chain/1", What: "three steps, the last into a private network", Ends: guard, serve: redirectTo("/redirect/chain/2")},
		{Path: "/redirect/chain/2", What: "two steps, the last into a private network", Ends: guard, serve: redirectTo("/redirect/chain/3")},
		{Path: "/redirect/chain/3", What: "one step into a private network", Ends: guard, serve: redirectTo("http://10.0.0.1/")},
		{Path: "/redirect/to-error", What: "to an invalid answer", Ends: listMasks(errormask.FetchHTTP), serve: redirectTo("/answer/smtp")},
		{Path: "/redirect/unknown", What: "to a name that does not exist", Ends: listMasks(errormask.Connection), serve: redirectTo("http://nowhere.invalid/")},
	}
	for _, p := range []struct{ name, target, what string }{
		{"metadata", "http://169.254.169.254/latest/meta-data/", "the address where clouds keep their secrets"},
		{"192", "http://192.168.0.1/", "a private network"},
		{"172", "http://172.16.0.1/", "a private network"},
		{"zero", "http://0.0.0.0/", "the address zero"},
		{"nat", "http://100.64.0.1/", "a provider's inner network"},
		{"multicast", "http://224.0.0.1/", "a multicast group"},
		{"loopback6", "http://[::1]/", "this machine, in IPv6"},
		{"mapped", "http://[::ffff:127.0.0.1]/", "this machine, as an IPv4-mapped address"},
		{"6to4", "http://[2002:7f00:1::]/", "this machine, as a 6to4 address"},
		{"nat64", "http://[64:ff9b::7f00:1]/", "this machine, as a NAT64 address"},
		{"local6", "http://[fe80::1]/", "a link-local address"},
		{"unique6", "http://[fd00::1]/", "a private network, in IPv6"},
		{"number", "http://167772161/", "10.0.0.1 as one number"},
		{"octal", "http://012.0.0.01/", "10.0.0.1 in octal"},
		{"hex", "http://0xa.0.0x0.1/", "10.0.0.1 in parts of hex"},
	} {
		list = append(list, Trap{Path: "/redirect/private/" + p.name, What: "to " + p.what, Ends: guard, serve: redirectTo(p.target)})
	}
	return list
}

// redirectTo redirects to target verbatim; net/http would repair it.
func redirectTo(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if target != "" {
			w.Header().Set("Location", target)
		}
		w.WriteHeader(http.StatusFound)
	}
}
