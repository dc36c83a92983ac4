package protocol_test

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

var requests = []protocol.Request{
	{Kind: protocol.Query, Query: archive.Query{Where: "title = 'a&b'", OrderBy: "url", Limit: 7}},
	{Kind: protocol.List, Meta: archive.Meta{URL: "http://e.org/?a=1&b=ü", CommitTag: "e.org@x"}},
	{Kind: protocol.Open, Meta: archive.Meta{URL: "u", CommitTag: "c"}, Name: "a/b c.txt"},
	{Kind: protocol.Create, Meta: archive.Meta{URL: "u", CommitTag: "c"}, Name: "w.txt"},
	{Kind: protocol.Tag, Meta: archive.Meta{URL: "u", CommitTag: "c"}, Name: "words"},
	{Kind: protocol.SetTag, Meta: archive.Meta{URL: "u", CommitTag: "c"}, Name: "words"},
	{Kind: protocol.Commits, After: 17, Limit: 5},
	{Kind: protocol.Observe, After: protocol.FromNow},
	{Kind: protocol.Status},
}

func TestRequestsAreReadBack(t *testing.T) {
	for _, r := range requests {
		values, err := url.ParseQuery(r.Values().Encode())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := protocol.Parse(r.Kind, values); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %+v, %v", r.Kind, got, err)
		}
		if r.Kind.Method() == "" {
			t.Errorf("%s has no method", r.Kind)
		}
	}
	if protocol.Stream.Method() != "" {
		t.Error("an answer has a method")
	}
}

func TestInvalidRequests(t *testing.T) {
	long := strings.Repeat("x", 20000)
	for name, c := range map[string]struct {
		kind  protocol.Kind
		query string
	}{
		"long where":        {protocol.Query, "where=" + long},
		"long order":        {protocol.Query, "orderBy=" + long},
		"negative limit":    {protocol.Query, "limit=-1"},
		"large limit":       {protocol.Query, "limit=99999999999999999999"},
		"unknown parameter": {protocol.Query, "path=/etc"},
		"twice":             {protocol.Query, "where=a&where=b"},
		"no version":        {protocol.List, "url=u"},
		"long URL":          {protocol.List, "commitTag=c&url=" + long},
		"other folder":      {protocol.Open, "url=u&commitTag=c&name=../x"},
		"backslash":         {protocol.Create, `url=u&commitTag=c&name=a\b`},
		"NUL":               {protocol.Create, "url=u&commitTag=c&name=a%00b"},
		"no name":           {protocol.Create, "url=u&commitTag=c"},
		"no tag":            {protocol.Tag, "url=u&commitTag=c"},
		"no number":         {protocol.Commits, "after=x"},
		"negative number":   {protocol.Commits, "after=-1"},
		"before now":        {protocol.Observe, "after=-2"},
	} {
		values, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := protocol.Parse(c.kind, values); !errors.Is(err, archive.ErrInvalid) || len(err.Error()) > 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsKeepTheirMeaning(t *testing.T) {
	for _, want := range []error{
		archive.ErrNotFound, archive.ErrExists, archive.ErrOutdated, archive.ErrInvalid,
		protocol.ErrDenied, protocol.ErrBusy, protocol.ErrTooLarge, protocol.ErrInternal,
	} {
		f, status := protocol.FailureOf(fmt.Errorf("file a.txt: %w", want))
		if err := f.Err(); !errors.Is(err, want) || err.Error() != "file a.txt: "+want.Error() || status < 400 {
			t.Errorf("%v: %v, %d", want, err, status)
		}
	}
	f, status := protocol.FailureOf(errors.New("open /secret/path: no space"))
	if status != 500 || strings.Contains(f.Message, "secret") || !errors.Is(f.Err(), protocol.ErrInternal) {
		t.Errorf("%+v %d", f, status)
	}
	if err := (protocol.Failure{Code: "new", Message: "m"}).Err(); !errors.Is(err, protocol.ErrInternal) || err.Error() != "m" {
		t.Errorf("unknown code: %v", err)
	}
}

func TestEventsAreReadBack(t *testing.T) {
	want := protocol.Event{Kind: protocol.Changes, ID: 18, Data: []byte(`[{"number":18}]`)}
	r := protocol.NewEventReader(strings.NewReader(string(protocol.Alive) + string(want.Text()) + "event: chan"))
	if e, err := r.Next(); err != nil || e.Kind != "" {
		t.Errorf("sign of life: %+v %v", e, err)
	}
	if e, err := r.Next(); err != nil || !reflect.DeepEqual(e, want) {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
}

func TestBadEvents(t *testing.T) {
	part := "data: " + strings.Repeat("x", protocol.MaxEvent/2) + "\n"
	for name, text := range map[string]string{
		"no number": "id: x\n\n", "long line": "data: " + strings.Repeat("x", 2*protocol.MaxEvent), "many lines": part + part + part,
	} {
		if _, err := protocol.NewEventReader(strings.NewReader(text)).Next(); err == nil || errors.Is(err, io.ErrUnexpectedEOF) || len(err.Error()) > 300 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What Parse accepts is written and read back the same, and its names stay in their folder.
func FuzzParse(f *testing.F) {
	for _, r := range requests {
		f.Add(string(r.Kind), r.Values().Encode())
	}
	f.Add("open", "url=u&commitTag=c&name=..%2F..%2Fetc")
	f.Fuzz(func(t *testing.T, kind, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		r, err := protocol.Parse(protocol.Kind(kind), values)
		if err != nil {
			if !errors.Is(err, archive.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return
		}
		if (r.Kind == protocol.Open || r.Kind == protocol.Create) && (strings.HasPrefix(r.Name, "/") || strings.Contains("/"+r.Name+"/", "/../")) {
			t.Errorf("name %q", r.Name)
		}
		if back, err := protocol.Parse(r.Kind, r.Values()); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%+v, %+v, %v", r, back, err)
		}
	})
}

// The reader ends on any text, with bounded events.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: changes\nid: 5\ndata: []\n\n: alive\n\nid: 1\ndata"))
	f.Add([]byte("data\n:\n\r\n\nid: -1\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := protocol.NewEventReader(strings.NewReader(string(text)))
		for range len(text) + 1 {
			e, err := r.Next()
			if err != nil {
				return
			}
			if len(e.Data) > protocol.MaxEvent {
				t.Fatal("the event is too long")
			}
		}
		t.Fatal("the stream does not end")
	})
}
