package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

// records are one of each type.
func records() []Record {
	head := Message{Start: "HTTP/1.1 200 OK", Fields: Fields{{"Content-Type", "text/html"}}}.Append(nil)
	return []Record{
		{Type: Info, Date: day, ContentType: FieldsType, Payload: []byte("software: test\r\n")},
		{Type: Response, Date: day, TargetURI: "https://example.org/", ContentType: ResponseType, Head: head, Payload: []byte("<p>one")},
		{Type: Request, Date: day, TargetURI: "https://example.org/", ContentType: RequestType, Head: []byte("GET / HTTP/1.1\r\n\r\n")},
		{Type: Resource, Date: day, TargetURI: "https://example.org/empty", ContentType: "text/plain"},
		{Type: Revisit, Date: day, TargetURI: "https://example.org/two", ContentType: ResponseType, Head: head, PayloadDigest: Digest([]byte("<p>one")), Fields: Fields{{FieldProfile, SamePayload}}},
		{Type: Metadata, Date: day, TargetURI: "https://example.org/", ContentType: FieldsType, Payload: bytes.Repeat([]byte("a: b\r\n"), 3_000)},
	}
}

// written returns a file of records with their places.
func written(t testing.TB, zip bool) ([]byte, []Record, []Place) {
	t.Helper()
	var out bytes.Buffer
	w, list := NewWriter(&out, Options{Gzip: zip}), records()
	places := make([]Place, len(list))
	for i := range list {
		var err error
		if places[i], err = w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes(), list, places
}

// A file that is written is read again, and each place alone is a file with its record.
// GNU wget 1.21 writes the digest of nothing for the blocks of revisits. Any other wrong digest is a fault.
func TestDigestOfNothing(t *testing.T) {
	const text = "WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Block-Digest: sha1:%s\r\nContent-Length: 4\r\n\r\nhead\r\n\r\n"
	for digest, right := range map[string]bool{"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ": true, "4I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ": false} {
		r, err := NewReader(strings.NewReader(fmt.Sprintf(text, digest)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Next(); err != nil {
			t.Fatal(err)
		}
		if _, err = r.Next(); (err == io.EOF) != right {
			t.Errorf("%s: %v", digest, err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, zip := range []bool{false, true} {
		t.Run(fmt.Sprint("gzip ", zip), func(t *testing.T) {
			file, list, places := written(t, zip)
			r, err := NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range list {
				found, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				check(t, found, want)
				if found.Offset != places[i].Offset {
					t.Errorf("%s at %d, written at %d", want.Type, found.Offset, places[i].Offset)
				}
				alone, err := NewReader(bytes.NewReader(file[places[i].Offset : places[i].Offset+places[i].Length]))
				if err != nil {
					t.Fatal(err)
				}
				if found, err = alone.Next(); err != nil {
					t.Fatal(err)
				}
				check(t, found, want)
				if _, err := alone.Next(); err != io.EOF {
					t.Errorf("after %s: %v", want.Type, err)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("the end: %v", err)
			}
		})
	}
}

// check compares a record with the written one and reads its block.
func check(t *testing.T, found *Found, want Record) {
	t.Helper()
	block, err := io.ReadAll(found.Body)
	if err != nil || string(block) != string(want.Head)+string(want.Payload) || int64(len(block)) != found.Length {
		t.Errorf("%s: %d bytes of block, %v", want.Type, len(block), err)
	}
	at, err := found.Date()
	if err != nil || !at.Equal(want.Date) || found.Type != want.Type || found.ID() != want.ID || found.TargetURI() != want.TargetURI {
		t.Errorf("%+v, %v", found, err)
	}
	for name, value := range map[string]string{FieldBlockDigest: want.BlockDigest, FieldPayloadDigest: want.PayloadDigest, FieldContentType: want.ContentType} {
		if got := found.Fields.Get(strings.ToUpper(name)); got != value {
			t.Errorf("%s: %s is %q, want %q", want.Type, name, got, value)
		}
	}
	if (want.PayloadDigest != "") != (want.Type == Response || want.Type == Resource || want.Type == Revisit) {
		t.Errorf("%s has the payload digest %q", want.Type, want.PayloadDigest)
	}
}

func TestIDs(t *testing.T) {
	a, b := IDOf("a", "bc"), IDOf("ab", "c")
	c, d := NewID(), NewID()
	if a == b || a != IDOf("a", "bc") || c == d || len(a) != len("<urn:uuid:01234567-89ab-8def-8123-456789abcdef>") || len(c) != len(a) || a[len("<urn:uuid:01234567-89ab-")] != '8' {
		t.Error(a, b, c, d)
	}
}

// A value cannot bring fields of its own into a header.
func TestWriterRefuses(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, Options{})
	for _, r := range []Record{{TargetURI: "http://h/\r\nX: y"}, {Fields: Fields{{"A\n", "b"}}}, {Fields: Fields{{"A", "b\x00"}}}} {
		if _, err := w.Write(&r); err == nil || out.Len() > 0 {
			t.Errorf("%+v: %v, %d bytes", r, err, out.Len())
		}
	}
}

// plain is a record by hand.
func plain(head, block string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: resource\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n", head, len(block), block)
}

func zipped(t testing.TB, texts ...string) string {
	t.Helper()
	var out bytes.Buffer
	for _, text := range texts {
		z := gzip.NewWriter(&out)
		_, err := z.Write([]byte(text))
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// readAll reads a file to its end or its fault.
func readAll(file io.Reader) (blocks []string, err error) {
	r, err := NewReader(file)
	if err != nil {
		return nil, err
	}
	for {
		found, err := r.Next()
		if err != nil {
			return blocks, err
		}
		block, err := io.ReadAll(io.LimitReader(found.Body, 100))
		if err != nil {
			return blocks, err
		}
		blocks = append(blocks, string(block))
	}
}

// Files of other writers that are good.
func TestFilesOfOthers(t *testing.T) {
	one, two := plain("WARC-Target-URI: <http://h/>\r\n", "one"), plain("X:  folded\r\n value\r\n", "two")
	for name, file := range map[string]string{
		"plain":                          one + two,
		"a member for each":              zipped(t, one, two),
		"one member for all":             zipped(t, one+two),
		"a record in two members":        zipped(t, one[:40], one[40:]+two),
		"an empty member":                zipped(t, one, "", two),
		"SHA-1 in base32":                plain("WARC-Block-Digest: sha1:7YC3ZXG4JEUACJ4BUXY2FJ34XNJZRYIG\r\n", "one") + two,
		"a digest of an unknown kind":    plain("WARC-Block-Digest: blake:00\r\n", "one") + two,
		"a digest of an unknown form":    plain("WARC-Block-Digest: sha1:zz\r\n", "one") + two,
		"lower case names, no blank":     strings.ReplaceAll(one, "Content-Length: ", "content-length:") + two,
		"a block that is read partially": plain("", "one") + two + plain("", strings.Repeat("x", 1000)),
	} {
		blocks, err := readAll(strings.NewReader(file))
		if err != io.EOF || len(blocks) < 2 || blocks[0] != "one" || blocks[1] != "two" {
			t.Errorf("%s: %q, %v", name, blocks, err)
		}
	}
	r, err := NewReader(strings.NewReader(one + two))
	if err != nil {
		t.Fatal(err)
	}
	first, err := r.Next()
	if err != nil || first.TargetURI() != "http://h/" {
		t.Errorf("%+v, %v", first, err)
	}
	if second, err := r.Next(); err != nil || second.Fields.Get("x") != "folded value" {
		t.Errorf("%+v, %v", second, err)
	}
}

// A damaged or hostile file has a fault with the offset of its record. The records before are read.
func TestFaults(t *testing.T) {
	one := plain("", "one")
	packed := zipped(t, one, one)
	damaged := []byte(packed)
	damaged[len(damaged)-6] ^= 1 // the checksum of the second member
	half := int64(len(packed) / 2)
	for name, c := range map[string]struct {
		file   string
		blocks int
		offset int64
		says   string
	}{
		"empty":                         {"", 0, -1, ""},
		"HTML":                          {"<html>\r\n\r\n", 0, 0, `begins with "<html>`},
		"another version":               {"WARC/2.0\r\nWARC-Type: x\r\n\r\n", 0, 0, "no header of a WARC record"},
		"cut in a header":               {one + one[:20], 1, int64(len(one)), "ends inside of the record"},
		"cut in a block":                {one + one[:len(one)-5], 1, int64(len(one)), "ends inside of the record"},
		"cut behind a block":            {one + one[:len(one)-2], 2, int64(len(one)), "ends inside of the record"},
		"a longer block":                {one + strings.Replace(one, "one", "three", 1), 2, int64(len(one)), "Content-Length is wrong"},
		"no length":                     {"WARC/1.0\r\nWARC-Type: resource\r\n\r\n", 0, 0, `Content-Length "" is not a number`},
		"a negative length":             {"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: -1\r\n\r\n", 0, 0, "is not a number"},
		"a huge length":                 {"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 9223372036854775807\r\n\r\nx", 0, 0, "ends inside of the record"},
		"no type":                       {"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n", 0, 0, "no WARC-Type"},
		"no colon":                      {"WARC/1.0\r\nWARC-Type\r\n\r\n", 0, 0, "no header of a WARC record"},
		"a folded line at the end":      {"WARC/1.0\r\nA: b\r\n c\r\n\r\n", 0, 0, "is not a number"},
		"a wrong digest":                {one + plain("WARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n", "one"), 2, int64(len(one)), "does not match WARC-Block-Digest"},
		"an endless line":               {"WARC/1.0\r\nX: " + strings.Repeat("x", 10*MaxHead), 0, 0, "header is longer than 65536 bytes"},
		"endless fields":                {"WARC/1.0\r\n" + strings.Repeat("X: x\r\n", MaxHead), 0, 0, "header is longer than 65536 bytes"},
		"a gzip header cut":             {"\x1f\x8b\x08", 0, 0, "EOF"},
		"a member cut":                  {packed[:len(packed)-30], 1, half, "ends inside of the record"},
		"a member with a wrong sum":     {string(damaged), 2, half, "checksum"},
		"other bytes behind the member": {packed + "xyz", 2, int64(len(packed)), "no gzip member"},
	} {
		blocks, err := readAll(strings.NewReader(c.file))
		var fault *Fault
		if c.offset < 0 {
			if err != io.EOF {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.As(err, &fault) || fault.Offset != c.offset || !strings.Contains(err.Error(), c.says) || len(blocks) != c.blocks {
			t.Errorf("%s: %d blocks, %v; want %d blocks and the offset %d", name, len(blocks), err, c.blocks, c.offset)
		}
	}
}

// zeros is an endless file behind a start.
type zeros struct{ start io.Reader }

func (z *zeros) Read(p []byte) (int, error) {
	if n, err := z.start.Read(p); err == nil {
		return n, nil
	}
	clear(p)
	return len(p), nil
}

// Reading takes the same memory for any file: a block of 32 MiB, and a small member that
// expands to it.
func TestMemoryIsBounded(t *testing.T) {
	const size = 32 << 20
	head := fmt.Sprintf("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: %d\r\n\r\n", size)
	read := func(file io.Reader) (grown uint64) {
		r, err := NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = r.Next() // skips the block
		runtime.ReadMemStats(&after)
		var fault *Fault
		if !errors.As(err, &fault) || !errors.Is(err, errNoEnd) {
			t.Errorf("%v", err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if grown := read(&zeros{strings.NewReader(head)}); grown > 1<<20 {
		t.Errorf("a plain block took %d bytes of memory", grown)
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := io.Copy(z, io.LimitReader(&zeros{strings.NewReader(head)}, size+1000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if grown := read(&bomb); grown > 1<<20 {
		t.Errorf("a compressed block took %d bytes of memory", grown)
	}
}

func TestMessages(t *testing.T) {
	for text, want := range map[string]struct {
		start  string
		fields Fields
		body   string
	}{
		"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\n\n":                     {"HTTP/1.1 200 OK", Fields{{"A", "b"}}, "body\n\n"},
		"A: b\r\nC:d\r\n":                                             {"", Fields{{"A", "b"}, {"C", "d"}}, ""},
		"HTTP/1.0 404 Not: here\nA:\n\nx":                             {"HTTP/1.0 404 Not: here", Fields{{"A", ""}}, "x"},
		"GET / HTTP/1.1\r\nno colon\r\n: none\r\nA: b\r\n\tc\r\n\r\n": {"GET / HTTP/1.1", Fields{{"A", "b c"}}, ""},
		"HTTP/1.1 200":                                                {"HTTP/1.1 200", nil, ""},
		"":                                                            {"", nil, ""},
		"\r\n\r\nx":                                                   {"", nil, "\r\nx"},
	} {
		m, body := ParseMessage([]byte(text))
		if m.Start != want.start || fmt.Sprint(m.Fields) != fmt.Sprint(want.fields) || string(body) != want.body {
			t.Errorf("%q: %q %q %q", text, m.Start, m.Fields, body)
		}
	}
}

func TestDates(t *testing.T) {
	for text, want := range map[string]string{
		"2026-03-04T05:06:07Z": "2026-03-04T05:06:07Z", "2026-03-04T05:06:07.123456Z": "2026-03-04T05:06:07.123456Z", "2026-03-04T05:06:07+02:00": "2026-03-04T03:06:07Z",
		"2026-03-04T05:06Z": "2026-03-04T05:06:00Z", "2026-03-04": "2026-03-04T00:00:00Z", "2026": "2026-01-01T00:00:00Z", "": "", "20260304050607": "", "now": "",
	} {
		at, err := ParseDate(text)
		if want == "" && err == nil || want != "" && at.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, %v", text, at, err)
		}
	}
}

// A file of any bytes is read to its end or to a fault inside of it, and a block has the length that
// its header states.
func FuzzReader(f *testing.F) {
	for _, zip := range []bool{false, true} {
		file, _, _ := written(f, zip)
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	f.Add([]byte(plain("X:\r\n y\r\n", "one")))
	f.Add([]byte(zipped(f, plain("", "one"), "")))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file))
		for err == nil {
			var found *Found
			if found, err = r.Next(); err != nil {
				break
			}
			n, e := io.Copy(io.Discard, found.Body)
			if e == nil && n != found.Length || found.Offset < 0 || found.Offset > int64(len(file)) {
				t.Fatalf("%d of %d bytes at %d", n, found.Length, found.Offset)
			}
		}
		var fault *Fault
		if err != io.EOF && (!errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > int64(len(file))) {
			t.Fatalf("%v", err)
		}
		m, body := ParseMessage(file)
		again, rest := ParseMessage(append(m.Append(nil), body...))
		if m.Start != "" && (again.Start != m.Start || len(again.Fields) != len(m.Fields)) || !bytes.Equal(rest, body) {
			t.Fatalf("%q became %q", m, again)
		}
	})
}
