package handshake

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// answers starts a port that reads a request and answers with text.
func answers(t *testing.T, text string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !Valid(c) {
				text = Fail
			}
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestAsk(t *testing.T) {
	dial := (&net.Dialer{}).DialContext
	for text, want := range map[string]struct {
		accepted bool
		message  string
	}{
		OK: {true, ""}, Fail: {false, ""}, "CRAWLER MAYBE\n\n": {false, "unexpected answer"}, "": {false, "no answer"}, "CRAWLER": {false, "no answer"},
		"HTTP/1.1 400 Bad Request\r\n": {false, "unexpected answer"}, OK + strings.Repeat("x", 1<<20): {true, ""},
	} {
		got, err := Ask(t.Context(), dial, answers(t, text))
		if got != want.accepted || (err == nil) != (want.message == "") || err != nil && !strings.Contains(err.Error(), want.message) {
			t.Errorf("%.20q: %t, %v", text, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ask(ctx, dial, answers(t, OK)); err == nil {
		t.Error("an ended context asks")
	}
}

func TestValid(t *testing.T) {
	for text, want := range map[string]bool{
		Request: true, Request + "more": true, "": false, "SOOGLE": false, Request[:len(Request)-1]: false, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n": false,
		strings.ToLower(Request): false, "SOOGLE CRAWLER CONNECT/0.2\n\n": false, "SOOGLE CRAWLER CONNECT/0.1\r\n\r\n": false,
	} {
		if Valid(strings.NewReader(text)) != want || Valid(iotest.OneByteReader(strings.NewReader(text))) != want {
			t.Errorf("%q", text)
		}
	}
}

func TestCrawlerPort(t *testing.T) {
	for host, want := range map[string]string{
		"a.example": "a.example:81", "a.example:8080": "a.example:8081", "[::1]:80": "[::1]:81", "[::1]": "[::1]:81", "10.0.0.1:65534": "10.0.0.1:65535",
		"a:65535": "", "a:0": "", "a:x": "", "a:b:c": "", "": "", ":80": "",
	} {
		if got, err := CrawlerPort(host, 1); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", host, got, err)
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add(Request)
	f.Add("GET / HTTP/1.1\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if Valid(strings.NewReader(text)) != strings.HasPrefix(text, Request) {
			t.Errorf("%q", text)
		}
	})
}
