package web

import (
	"fmt"
	"net"
	"net/http"
	"strings"

	"hce/dc/internal/wire/errormask"
)

// answerTraps are wrong before their body begins.
func answerTraps() []Trap {
	const page = "\r\n<!DOCTYPE html><title>A page</title><p>It has a text of its own.</p>"
	broken := listMasks(errormask.FetchHTTP)
	head := func(lines string) http.HandlerFunc { return sendText(okHead + lines + page) }
	status := func(line string) http.HandlerFunc {
		return sendText(line + "\r\nContent-Type: text/html\r\nConnection: close\r\n" + page)
	}
	gone := listMasks(errormask.Connection)
	tooMuch := listMasks(errormask.Size)
	return []Trap{
		{Path: "/answer/never", What: "the request is taken and never answered", Ends: listMasks(errormask.Timeout), Stalls: true, serve: sendThenStall("")},
		{Path: "/answer/half-header", What: "half a header, and then nothing", Ends: listMasks(errormask.Timeout), Stalls: true, serve: sendThenStall("HTTP/1.1 200 OK\r\nServer:")},
		{Path: "/answer/close", What: "closed without an answer", Ends: gone, serve: sendText("")},
		{Path: "/answer/reset", What: "reset without an answer", Ends: gone, serve: sendThenAbort("")},
		{Path: "/answer/cut-header", What: "closed in the middle of the header", Ends: gone, serve: sendText("HTTP/1.1 200 OK\r\nServer: x\r\n")},

		{Path: "/answer/status-line", What: "a status line that never ends", Ends: tooMuch, serve: sendThenFlood("HTTP/1.1 200 ", "OK ")},
		{Path: "/answer/header-flood", What: "headers without an end", Ends: tooMuch, serve: sendThenFlood("HTTP/1.1 200 OK\r\n", "X-Flood: and more\r\n")},
		{Path: "/answer/header-giant", What: "one header without an end", Ends: tooMuch, serve: sendThenFlood("HTTP/1.1 200 OK\r\nX-Giant: ", "giant ")},
		{Path: "/answer/header-names", What: "ten thousand headers, each of another name", Ends: tooMuch, serve: serveRaw(func(c net.Conn) {
			sendRaw(c, okHead)
			for i := range 10_000 {
				if !sendRaw(c, fmt.Sprintf("X-%d: %0100d\r\n", i, i)) {
					return
				}
			}
			sendRaw(c, page)
		})},
		{Path: "/answer/informational", What: "103 Early Hints without an end", Ends: listMasks(errormask.FetchHTTP, errormask.Size), serve: sendThenFlood("", "HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\n")},
		{Path: "/answer/continues", What: "a hundred times 100 Continue, and then a page", Ends: listMasks(errormask.FetchHTTP, 0), serve: sendText(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100) + okHead + page)},
		{Path: "/answer/switching", What: "unrequested 101 Switching Protocols, and then silence", Ends: broken, serve: sendThenStall("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")},

		{Path: "/answer/http-0.9", What: "a page without any header, as in HTTP/0.9", Ends: broken, serve: sendText(page[2:])},
		{Path: "/answer/smtp", What: "another protocol", Ends: broken, serve: sendText("220 mail.invalid ESMTP\r\n")},
		{Path: "/answer/noise", What: "noise", Ends: listMasks(errormask.FetchHTTP, errormask.Size, errormask.Connection), serve: sendText(string(randomBytes(100_000)))},
		{Path: "/answer/code-42", What: "a code of two digits", Ends: broken, serve: sendText("HTTP/1.1 42 Odd\r\n" + page)},
		{Path: "/answer/code-word", What: "a code that is a word", Ends: broken, serve: sendText("HTTP/1.1 two OK\r\n" + page)},
		{Path: "/answer/code-999", What: "the code 999", Ends: listMasks(errormask.HTTP), serve: sendText("HTTP/1.1 999 Request denied\r\nContent-Type: text/html\r\nConnection: close\r\n" + page)},
		{Path: "/answer/version", What: "HTTP/9.9", Ends: listMasks(errormask.FetchHTTP, 0), serve: sendText("HTTP/9.9 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n" + page)},
		{Path: "/answer/nul-header", What: "NUL bytes in a header", Ends: broken, Kept: true, serve: sendText(okHead + "X-Nul: a\x00b\r\n" + page)},
		{Path: "/answer/nul-type", What: "NUL bytes in the content type", Ends: broken, Kept: true, serve: sendText("HTTP/1.1 200 OK\r\nContent-Type: text/\x00html\r\nConnection: close\r\n" + page)},
		{Path: "/answer/no-colon", What: "a header line without a colon", Ends: broken, Kept: true, serve: sendText(okHead + "This is no header\r\n" + page)},
		{Path: "/answer/space-name", What: "a header name with a space in it", Ends: broken, Kept: true, serve: sendText(okHead + "X Bad: 1\r\n" + page)},
		{Path: "/answer/space-colon", What: "a space before the colon of a header", Ends: broken, Kept: true, serve: head("X-Space : 1\r\n")},
		{Path: "/answer/utf8-name", What: "a header name in UTF-8", Ends: broken, Kept: true, serve: head("\xc3\xa9t\xc3\xa9: 1\r\n")},
		{Path: "/answer/no-name", What: "a header without a name", Ends: broken, Kept: true, serve: head(": 1\r\n")},
		{Path: "/answer/control", What: "control characters in a header", Ends: broken, Kept: true, serve: head("X-Bell: a\x07b\x7f\r\n")},
		{Path: "/answer/latin-value", What: "latin-1 in a header's value, as many servers send it", serve: head("X-Name: M\xfcller\r\n")},
		{Path: "/answer/html-in-header", What: "a line of HTML and its continuation in the header, from a script that printed too early", Ends: broken, Kept: true, serve: head("<b>Warning</b> in line 3\r\n  of a script\r\n")},
		{Path: "/answer/folded-first", What: "a folded line behind the status line", Ends: broken, Kept: true, serve: sendText("HTTP/1.1 200 OK\r\n folded\r\nContent-Type: text/html\r\nConnection: close\r\n" + page)},
		{Path: "/answer/lower-case", What: "a status line in lower case", Ends: broken, Kept: true, serve: status("http/1.1 200 ok")},
		{Path: "/answer/blank-lines", What: "an empty line before the status line", Ends: broken, Kept: true, serve: status("\r\nHTTP/1.1 200 OK")},
		{Path: "/answer/no-minor", What: "HTTP/1 as the version", Ends: broken, Kept: true, serve: status("HTTP/1 200 OK")},
		{Path: "/answer/two", What: "HTTP/2 as the version, in the words of HTTP/1", Ends: broken, Kept: true, serve: status("HTTP/2 200")},
		{Path: "/answer/no-version", What: "HTTP without a version", Ends: broken, Kept: true, serve: status("HTTP 200 OK")},
		{Path: "/answer/icy", What: "ICY instead of HTTP, as radio stations send it", Ends: broken, Kept: true, serve: status("ICY 200 OK")},
		{Path: "/answer/code-joined", What: "no space between code and reason", Ends: broken, Kept: true, serve: status("HTTP/1.1 200OK")},
		{Path: "/answer/no-reason", What: "a code without a reason", serve: status("HTTP/1.1 200")},
		{Path: "/answer/http-1.0", What: "HTTP/1.0 without a length, closed at the end", serve: status("HTTP/1.0 200 OK")},
		{Path: "/answer/cr-only", What: "lines that end in CR alone", Ends: listMasks(errormask.FetchHTTP, errormask.Connection), serve: sendText(strings.ReplaceAll(okHead+page, "\r\n", "\r"))},
		{Path: "/answer/lf-only", What: "lines that end in LF alone, as many servers send them", serve: sendText(strings.ReplaceAll(okHead+page, "\r\n", "\n"))},
		{Path: "/answer/folded", What: "a header folded over two lines, as it was allowed once", serve: sendText(okHead + "X-Folded: one\r\n  and two\r\n" + page)},
		{Path: "/answer/no-type", What: "no content type", serve: sendText("HTTP/1.1 200 OK\r\nConnection: close\r\n" + page)},
		{Path: "/answer/giant-type", What: "a content type of 100 KB", serve: sendText("HTTP/1.1 200 OK\r\nContent-Type: text/html; x=" + strings.Repeat("y", 100_000) + "\r\nConnection: close\r\n" + page)},
		{Path: "/answer/odd-type", What: "a content type of broken UTF-8 and quotes", serve: sendText("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=\"\xff\xfe\\\r\nConnection: close\r\n" + page)},
		{Path: "/answer/etag", What: "an ETag of 100 KB, and invalid dates", serve: sendText(okHead + "ETag: " + strings.Repeat("e", 100_000) + "\r\nLast-Modified: yesterday\r\nDate: 99999999\r\nExpires: \xff\r\n" + page)},
		{Path: "/answer/two-answers", What: "a second answer after the first, without a request", serve: sendText(strings.Replace(okHead, "Connection: close\r\n", "Content-Length: 20\r\n", 1) + "\r\n<title>First</title>" + strings.Replace(okHead, "Connection: close\r\n", "Content-Length: 21\r\n", 1) + "\r\n<title>Second</title>")},
		{Path: "/answer/cookie-flood", What: "two thousand cookies, within the limit of a header", serve: serveCookies(2000, 40)},
		{Path: "/answer/cookie-giant", What: "cookies of 1 MB", Ends: tooMuch, serve: serveCookies(10, 100_000)},
		{Path: "/answer/cookie-odd", What: "cookies for other hosts, with NUL, with dates beyond all time", serve: sendText(okHead +
			"Set-Cookie: a=b; Domain=com\r\nSet-Cookie: =; Expires=Thu, 99 Foo 99999 99:99:99 GMT\r\nSet-Cookie: \xff\xfe=\xff; Max-Age=99999999999999999999\r\nSet-Cookie: ;;;;\r\nSet-Cookie: x\r\n" + page)},
		{Path: "/answer/204", What: "no content, and says so", Ends: listMasks(errormask.Empty), serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		{Path: "/answer/300", What: "multiple choices without a list", Ends: listMasks(errormask.Empty), serve: sendText("HTTP/1.1 300 Multiple Choices\r\nContent-Type: text/html\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")},
		{Path: "/answer/304", What: "not modified, without a condition in the request", Ends: broken, serve: sendText("HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n")},
		{Path: "/answer/206", What: "a part of a page, without a range in the request", Ends: broken, serve: sendText(strings.Replace(okHead, "200 OK", "206 Partial Content", 1) + "Content-Range: bytes 0-66/5000\r\n" + page)},
		{Path: "/answer/305", What: "use a proxy, the server says", serve: sendText("HTTP/1.1 305 Use Proxy\r\nLocation: http://10.0.0.1:3128/\r\nContent-Type: text/html\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")},
		{Path: "/answer/407", What: "a proxy's question without a proxy", Ends: listMasks(errormask.HTTP | errormask.Authorization), serve: sendText("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\nContent-Type: text/html\r\nConnection: close\r\n" + page)},
		{Path: "/answer/error-endless", What: "an error page without an end", Ends: listMasks(errormask.Size, errormask.HTTP, errormask.Size|errormask.HTTP), serve: sendThenFlood("HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n", "<p>Oops, ")},
	}
}

// serveCookies answers with n cookies of size bytes each.
func serveCookies(n, size int) http.HandlerFunc {
	return serveRaw(func(c net.Conn) {
		sendRaw(c, okHead)
		for i := range n {
			if !sendRaw(c, fmt.Sprintf("Set-Cookie: c%d=%s\r\n", i, strings.Repeat("v", size))) {
				return
			}
		}
		sendRaw(c, "\r\n<title>Cookies</title><p>Take one, they are fresh.</p>")
	})
}
