package httprepair

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRepair(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct{ name, head, want string }{ // want "" means unchanged
		{"valid", ok + "Content-Type: text/html\r\nContent-Length: 5\r\n\r\n", ""},
		{"line feeds alone", "HTTP/1.1 200 OK\nA: b\n\n", ""},
		{"folded", ok + "A: b\r\n  c\r\n\r\n", ""},
		{"no reason", "HTTP/1.1 200\r\nA: b\r\n\r\n", ""},
		{"UTF-8 in a value", ok + "A: \xd0\x96 \xff\r\n\r\n", ""},
		{"chunked and a length", ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"different lengths stay wrong", ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", ""},
		{"a list of different lengths stays wrong", ok + "Content-Length: 3, 4\r\n\r\n", ""},
		{"no colon", ok + "no colon\r\nA: b\r\n\r\n", ok + "A: b\r\n\r\n"},
		{"folded behind no colon", ok + "no colon\r\n more\r\nA: b\r\n\r\n", ok + "A: b\r\n\r\n"},
		{"folded status line", ok + " more: x\r\nA: b\r\n\r\n", ok + "A: b\r\n\r\n"},
		{"space in a name", ok + "A B: c\r\nD: e\r\n\r\n", ok + "D: e\r\n\r\n"},
		{"name in UTF-8", ok + "\xc3\xa9: c\r\nD: e\r\n\r\n", ok + "D: e\r\n\r\n"},
		{"no name", ok + ": c\r\nD: e\r\n\r\n", ok + "D: e\r\n\r\n"},
		{"space before the colon", ok + "A : b\r\n\r\n", ok + "A: b\r\n\r\n"},
		{"NUL in a value", ok + "A: b\x00c\xff\r\n\r\n", ok + "A: bc\xff\r\n\r\n"},
		{"NUL in a name", ok + "Content-\x00Type: text/html\r\n\r\n", ok + "Content-Type: text/html\r\n\r\n"},
		{"control characters", ok + "A: b\x01\x7f\tc\r\n\r\n", ok + "A: b\tc\r\n\r\n"},
		{"equal lengths in a list", ok + "Content-Length: 5, 5\r\n\r\n", ok + "Content-Length: 5\r\n\r\n"},
		{"equal lengths in lines", ok + "Content-Length: 5\r\ncontent-length: 5\r\n\r\n", ok + "Content-Length: 5\r\n\r\n"},
		{"negative length", ok + "Content-Length: -5\r\nA: b\r\n\r\n", ok + "A: b\r\n\r\n"},
		{"length with a sign", ok + "Content-Length: +5\r\n\r\n", ok + "\r\n"},
		{"empty length", ok + "Content-Length:\r\n\r\n", ok + "\r\n"},
		{"length is a word", ok + "Content-Length: many\r\n\r\n", ok + "\r\n"},
		{"length beyond all numbers", ok + "Content-Length: " + strings.Repeat("9", 30) + "\r\n\r\n", ok + "\r\n"},
		{"chunked twice", ok + "Transfer-Encoding: chunked, chunked\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\n"},
		{"two lengths and chunked", ok + "Content-Length: 1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\n"},
		{"identity", ok + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n", ok + "Content-Length: 5\r\n\r\n"},
		{"lower case", "http/1.1 200 ok\r\nA: b\r\n\r\n", "HTTP/1.1 200 ok\r\nA: b\r\n\r\n"},
		{"no minor version", "HTTP/1 200 OK\r\nA: b\r\n\r\n", "HTTP/1.0 200 OK\r\nA: b\r\n\r\n"},
		{"HTTP/2 in words", "HTTP/2 200\r\nA: b\r\n\r\n", "HTTP/1.1 200\r\nA: b\r\n\r\n"},
		{"a radio station", "ICY 200 OK\r\nA: b\r\n\r\n", "HTTP/1.0 200 OK\r\nA: b\r\n\r\n"},
		{"code and reason in one word", "HTTP/1.1 200OK\r\nA: b\r\n\r\n", ok + "A: b\r\n\r\n"},
		{"empty lines first", "\r\n" + ok + "A: b\r\n\r\n", ok + "A: b\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, changed := Repair([]byte(c.head))
			want := c.want
			if want == "" {
				want = c.head
			}
			if string(got) != want || changed != (c.want != "") {
				t.Errorf("changed %v: %q, want %q", changed, got, want)
			}
			again, changed := Repair(got)
			if string(again) != want || changed {
				t.Errorf("the second time: changed %v, %q", changed, again)
			}
			resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got)), nil)
			if wrong := strings.Contains(c.name, "wrong"); (err != nil) != wrong {
				t.Errorf("net/http: %v", err)
			} else if err == nil {
				resp.Body.Close()
			}
		})
	}
}

// stream is a connection that reads from a reader.
type stream struct {
	net.Conn
	r io.Reader
}

func (s stream) Read(p []byte) (int, error) { return s.r.Read(p) }

// Whatever parts the bytes come in, the header is repaired and the rest is passed on.
func TestConn(t *testing.T) {
	const bad, good = "HTTP/1.1 200 OK\r\nodd\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
	hint := "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	flood := "HTTP/1.1 200 OK\r\n" + strings.Repeat("odd\r\n", 1000)
	for _, c := range []struct {
		name, sent, want string
		repaired         bool
	}{
		{"header and body", bad + bad, good + bad, true},
		{"valid", good + bad, good + bad, false},
		{"after hints", hint + hint + bad + "x", hint + hint + good + "x", true},
		{"switching ends HTTP", "HTTP/1.1 101 x\r\n\r\n" + bad, "HTTP/1.1 101 x\r\n\r\n" + bad, false},
		{"cut", bad[:20], bad[:20], false},
		{"nothing", "", "", false},
		{"too long", flood, flood, false},
		{"another protocol", "220 mail.invalid\r\nodd\r\n\r\n", "220 mail.invalid\r\nodd\r\n\r\n", false},
		{"many empty lines", "\r\n\r\n\r\n" + bad, "\r\n\r\n\r\n" + bad, false},
	} {
		for parts, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "with EOF": iotest.DataErrReader,
		} {
			t.Run(c.name+" "+parts, func(t *testing.T) {
				conn := New(stream{r: cut(strings.NewReader(c.sent))}, 512)
				conn.Expect()
				got, err := io.ReadAll(conn)
				if err != nil || string(got) != c.want || conn.Repaired() != c.repaired || conn.Begun() != (c.sent != "") {
					t.Errorf("%v, repaired %v, begun %v, %q; want %q", err, conn.Repaired(), conn.Begun(), got, c.want)
				}
			})
		}
	}
	t.Run("nothing is expected", func(t *testing.T) {
		got, err := io.ReadAll(New(stream{r: strings.NewReader(bad)}, 512))
		if err != nil || string(got) != bad {
			t.Errorf("%v, %q", err, got)
		}
	})
	t.Run("an error follows what was read", func(t *testing.T) {
		broken := errors.New("broken")
		conn := New(stream{r: io.MultiReader(strings.NewReader(bad[:9]), iotest.ErrReader(broken))}, 512)
		conn.Expect()
		if got, err := io.ReadAll(conn); err != broken || string(got) != bad[:9] {
			t.Errorf("%v, %q", err, got)
		}
	})
}

// What net/http reads of a valid header does not change; what Repair returns needs no repair.
func FuzzRepair(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5, 5\r\n\r\n"))
	f.Add([]byte("http/1 200ok\nodd\n b\nA :\x00c\nTransfer-Encoding: x\n\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		once, _ := Repair(head)
		if twice, changed := Repair(once); changed {
			t.Errorf("%q became %q, then %q", head, once, twice)
		}
	})
}
