package template

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// docs/spec/processing.md 3.8, 1.5 TEMPLATE_SOURCE.
func TestParseSources(t *testing.T) {
	list, err := ParseSources(`[{"name":"a","source":"file","request":"a.json","schedule":{"type":0}},
		{"source":"HTTP","request":"http://site.example/t","post":"u=%URL%","headers":"{\"X-Key\":\"7\"}","schedule":"{\"type\":\"3\",\"at\":\"2026-11-23 05:00\",\"step\":\"30\",\"file\":\"s\"}"}]`)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Kind != SourceFile || list[1].Kind != SourceHTTP || list[1].State() != "s" || fmt.Sprint(list[1].Headers) != "[{X-Key 7}]" {
		t.Errorf("got %+v", list)
	}
	if list, err := ParseSources(" "); list != nil || err != nil {
		t.Errorf("an empty property: %v, %v", list, err)
	}
	for text, want := range map[string]string{
		`[{"source":"ftp","request":"x"}]`: `source 1: "source" has "ftp"; expected file or http`,
		`[{"source":"file"}]`:              `source 1: "request" is missing`,
		`[{"source":"file","request":"x"},{"source":"file","request":"x","schedule":{"type":4}}]`: `source 2: "schedule" "type" has 4; expected 0 to 3`,
		`{"source":"file","request":"x","schedule":{"type":3}}`:                                   `source 1: "schedule" "step" has 0; expected minutes from 1 to 5270400`,
		`{"source":"file","request":"x","schedule":{"type":2,"at":"tomorrow"}}`:                   `source 1: "schedule" "at" has "tomorrow"; expected YYYY-MM-DD hh:mm`,
		`{"source":"file","request":["x"]}`:                                                       `source 1: "request" has ["x"]; expected a text`,
		`[7]`:                                                                                     `source 1: is not a JSON object`,
		`[` + strings.Repeat(`{"source":"file","request":"x"},`, 100) + `{}]`:                     `has 101 sources; the limit is 100`,
	} {
		if _, err := ParseSources(text); err == nil || err.Error() != want {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

// docs/spec/processing.md 3.8, 6.2 #16.
func TestDue(t *testing.T) {
	at := func(text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		d, err := time.Parse("02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return d.AddDate(2026, 10, 0)
	}
	for name, c := range map[string]struct {
		schedule, now, last string
		root, want          bool
	}{
		"3.8 without a schedule":                     {``, "23 05:00", "", true, false},
		"3.8 schedule 0, root":                       {`{"type":0}`, "23 05:00", "", true, true},
		"6.2 #16 schedule 0 works without more data": {`{"type":"0"}`, "23 05:00", "22 05:00", true, true},
		"3.8 schedule 0, other page":                 {`{"type":0}`, "23 05:00", "", false, false},
		"3.8 schedule 1":                             {`{"type":1}`, "23 05:00", "23 04:59", false, true},
		"3.8 schedule 2, too early":                  {`{"type":2,"at":"2026-11-23 06:00"}`, "23 05:00", "", false, false},
		"3.8 schedule 2, after":                      {`{"type":2,"at":"2026-11-23 04:00"}`, "23 05:00", "", false, true},
		"3.8 schedule 2, used before":                {`{"type":2,"at":"2026-11-23 04:00"}`, "23 05:00", "23 03:00", false, true},
		"3.8 schedule 2, used":                       {`{"type":2,"at":"2026-11-23 04:00"}`, "23 05:00", "23 04:00", false, false},
		"3.8 schedule 3, first":                      {`{"type":3,"step":60}`, "23 05:00", "", false, true},
		"3.8 schedule 3, too early":                  {`{"type":3,"step":60}`, "23 05:00", "23 04:01", false, false},
		"3.8 schedule 3, again":                      {`{"type":3,"step":60}`, "23 05:00", "23 04:00", false, true},
		"3.8 schedule 3, clock set back":             {`{"type":3,"step":60}`, "23 05:00", "24 04:00", false, true},
		"3.8 schedule 3, before at":                  {`{"type":3,"step":60,"at":"2026-11-23 06:00"}`, "23 05:00", "", false, false},
	} {
		text := `{"source":"file","request":"x"}`
		if c.schedule != "" {
			text = `{"source":"file","request":"x","schedule":` + c.schedule + `}`
		}
		list, err := ParseSources(text)
		if err != nil {
			t.Fatal(name, err)
		}
		if got := list[0].Due(at(c.now), c.root, at(c.last)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestBody(t *testing.T) {
	s := Source{Post: "u=%URL%&c=%RAW_CONTENT%&u=%URL%"}
	if got := s.Body("http://a/", "text %URL%"); got != "u=http://a/&c=text %URL%&u=http://a/" {
		t.Errorf("6.2 #16: macros: %s", got)
	}
}

func TestMerge(t *testing.T) {
	s := set(t, `{"templates":[{"name":"a","tags":{"x":["//p"]}},{"name":"b","tags":{"x":["//q"]}}]}`)
	shared := s.Clone()
	for _, c := range []struct{ name, answer string }{
		{"b", `{"tags":{"new":["//p"]}}`}, {"", `[{"name":"c","tags":{"y":["//p"]}},{"name":"d","tags":{"z":["//p"]}}]`}, {"e", `{"templates":[{"tags":{"v":["//p"]}}]}`},
	} {
		if err := s.Merge(c.name, c.answer); err != nil {
			t.Fatal(err)
		}
	}
	if got := describe(s); got != `first_nonempty: "c" y; "e" v; "a" x; "b" new` {
		t.Errorf("6.2 #16: same-named templates are replaced, others come first: %s", got)
	}
	if got := describe(shared); got != `first_nonempty: "a" x; "b" x` {
		t.Errorf("a clone changed: %s", got)
	}
	empty := set(t, "")
	if err := empty.Merge("", `{"tags":{"x":["//p"]}}`); err != nil || describe(empty) != `first_nonempty: 1 x` {
		t.Errorf("an empty property: %s, %v", describe(empty), err)
	}
	for _, answer := range []string{"", "{}", "[]", `{"a"`, `{"templates":[]}`} {
		if err := s.Merge("x", answer); err == nil {
			t.Errorf("%s: no error", answer)
		}
	}
}
