package packet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var documents = []Document{
	{Kind: Page, URL: "http://a.example/", Title: "Ñandú <b>", Description: "d & e", Words: []string{"uno", "dos"}, HTML: "<p>\x01</p>", Size: 9, Extension: "html"},
	{Kind: File, URL: "http://a.example:8080/foto_vacas.jpg", Words: []string{"foto", "vacas"}, Size: 23552, Extension: "jpg", Modified: time.Unix(1e9, 0).UTC()},
}

// A frame has the layout of section 11.1: id, kind, length in network order, payload.
func TestLayout(t *testing.T) {
	var b bytes.Buffer
	id := ID([]byte("0123456789abcdef"))
	if err := Write(&b, Frame{ID: id, Kind: Stored, Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "0123456789abcdef\x81\x00\x00\x00\x02{}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDocumentsTravel(t *testing.T) {
	var stream bytes.Buffer
	ids := map[ID]bool{}
	for _, d := range documents {
		f, err := Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		ids[f.ID] = true
		if err := Write(&stream, f); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != len(documents) {
		t.Error("two requests have one id")
	}
	r := iotest.OneByteReader(&stream) // frames arrive in pieces
	for _, want := range documents {
		f, err := Read(r, MaxPayload)
		if err != nil || !ids[f.ID] {
			t.Fatal(f.ID, err)
		}
		got, err := Decode(f)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v; %v", got, want, err)
		}
		a, err := DecodeAnswer(Reply(f.ID, Stored, Answer{Outcome: New}))
		if err != nil || a.Outcome != New {
			t.Error(a, err)
		}
	}
	if _, err := Read(r, MaxPayload); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestBadFrames(t *testing.T) {
	header := "0123456789abcdef\x01"
	for name, c := range map[string]struct {
		bytes string
		want  error
	}{
		"cut in the header":  {header, io.ErrUnexpectedEOF},
		"cut in the payload": {header + "\x00\x00\x00\x05abc", io.ErrUnexpectedEOF},
		"no payload at all":  {header + "\x00\x00\x00\x05", io.ErrUnexpectedEOF},
		"too long":           {header + "\x00\x00\x04\x01", ErrSize},
		"longest claim":      {header + "\xff\xff\xff\xff", ErrSize},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(c.bytes), 1024); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	claim := header + "\x00\xff\xff\xffx" // almost 16 MiB, of which one byte arrives
	if n := testing.AllocsPerRun(1, func() { _, _ = Read(strings.NewReader(claim), MaxPayload) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
	if err := Write(io.Discard, Frame{Payload: make([]byte, MaxPayload+1)}); !errors.Is(err, ErrSize) {
		t.Error(err)
	}
}

func TestBadDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		kind    Kind
		payload string
	}{
		"no JSON":             {Page, "hello"},
		"an answer":           {Stored, `{"url":"http://a.example/"}`},
		"unknown kind":        {77, `{"url":"http://a.example/"}`},
		"no url":              {Page, `{"title":"x"}`},
		"other scheme":        {Page, `{"url":"file:///etc/passwd"}`},
		"not canonical":       {Page, `{"url":"http://A.example/x/../y"}`},
		"negative size":       {File, `{"url":"http://a.example/","size":-1}`},
		"title of a file":     {File, `{"url":"http://a.example/","title":"x"}`},
		"empty word":          {File, `{"url":"http://a.example/","words":[""]}`},
		"long word":           {File, `{"url":"http://a.example/","words":["` + strings.Repeat("x", MaxWord+1) + `"]}`},
		"long title":          {Page, `{"url":"http://a.example/","title":"` + strings.Repeat("x", MaxTitle+1) + `"}`},
		"too many words":      {Page, `{"url":"http://a.example/","words":["a"` + strings.Repeat(`,"a"`, MaxWords) + `]}`},
		"two documents":       {Page, `{"url":"http://a.example/"}{}`},
		"size is not a count": {Page, `{"url":"http://a.example/","size":1e99}`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode(Frame{Kind: c.kind, Payload: []byte(c.payload)}); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrKind) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := Encode(Document{Kind: Page}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := DecodeAnswer(Frame{Kind: Page}); !errors.Is(err, ErrKind) {
		t.Error(err)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{{"añb", 2, "a"}, {"añb", 3, "añ"}, {"abc", 9, "abc"}, {"\xff", 9, "\uFFFD"}, {"ñ", 0, ""}} {
		if got := Cut(c.text, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

// A frame that can be read is written again as it was, and its document, too.
func FuzzFrames(f *testing.F) {
	for _, d := range documents {
		frame, err := Encode(d)
		if err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		_ = Write(&b, frame)
		f.Add(b.Bytes())
	}
	f.Add([]byte("SOOGLE CRAWLER CONNECT/0.1\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := Read(bytes.NewReader(b), 1<<20)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := Write(&again, frame); err != nil || !bytes.HasPrefix(b, again.Bytes()) {
			t.Fatalf("%q became %q, %v", b, again.Bytes(), err)
		}
		_, _ = DecodeAnswer(frame)
		d, err := Decode(frame)
		if err != nil {
			return
		}
		second, err := Encode(d)
		if err != nil {
			t.Fatalf("%+v cannot be encoded: %v", d, err)
		}
		got, err := Decode(second)
		if err != nil || !got.Modified.Equal(d.Modified) {
			t.Fatalf("%+v became %+v, %v", d, got, err)
		}
		got.Modified, d.Modified = time.Time{}, time.Time{} // zones have several forms
		if a, b := fmt.Sprint(got), fmt.Sprint(d); a != b {
			t.Fatalf("%s became %s", b, a)
		}
	})
}
