package headerrotation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// show writes a rule as text: name=value,value;...
func show(r Rule) string {
	var list []string
	for _, f := range r.fields {
		values := strings.Join(f.values, ",")
		if f.file != "" {
			values = "<" + f.file + ">"
		}
		list = append(list, f.name+"="+values)
	}
	return strings.Join(list, ";")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want, err string }{
		{"empty", " \n", "", ""},
		{"lines", "Accept: */*\r\n# no\n\n X-A :b:c ", "Accept=*/*;X-A=b:c", ""},
		{"object in its order", `{"b":"1","A":["x","y"]}`, "b=1;A=x,y", ""},
		{"scalars", `{"a":5,"b":true,"c":[1,"2"]}`, "a=5;b=true;c=1,2", ""},
		{"equal values once", `{"a":["x"," x ","y"]}`, "a=x,y", ""},
		{"the last of equal names", "Accept: a\nX: b\naccept: c", "accept=c;X=b", ""},
		{"switch of the browser", "--incognito:", "--incognito=", ""},
		{"file", "file://ua.txt", "User-Agent=<ua.txt>", ""},
		{"absolute file", `{"user-agent":"file:///x/ua.txt"}`, "user-agent=</x/ua.txt>", ""},
		{"other headers have no files", `{"Referer":"file:///x"}`, "Referer=file:///x", ""},

		{"file among values", `{"User-Agent":["file://a","b"],"C":"d"}`, "C=d", "a file among other values"},
		{"broken JSON", `{"a":`, "", "is not valid JSON"},
		{"no text", `{"a":{"b":1},"c":"d"}`, "c=d", `has {"b":1}; expected a text for the header "a"`},
		{"no values", `{"a":[],"b":null,"c":"d"}`, "c=d", "gives the header a no value"},
		{"line without a colon", "abc\nd: e", "d=e", `has no colon in line 1, which is no header`},
		{"name", `{"a b":"c","d\n":"e","":"f","g":"h"}`, "d=e;g=h", `has the header name "a b", which cannot be sent`},
		{"value", `{"a":"b\r\nHost: c","d":"e"}`, "d=e", "has a value of a that cannot be sent"},
		{"one of several values", `{"a":["b","\u0000"],"d":"e"}`, "d=e", "has a value of a that cannot be sent"},
	} {
		rule, err := Parse(c.text)
		if got := show(rule); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	long := "x: y"
	for i := range maxHeaders + 10 {
		long += fmt.Sprintf("\nh%d: v", i)
	}
	if rule, err := Parse(long); err == nil || len(rule.fields) != maxHeaders {
		t.Errorf("%d headers, %v", len(rule.fields), err)
	}
}

func TestResolve(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "agents")
	files := map[string]string{
		"agents/ua.txt":    "\xef\xbb\xbfA 1\r\n\n# no\n B 2 \nA 1\n",
		"agents/sub/x.txt": "C",
		"agents/empty.txt": "\n#\n",
		"agents/bad.txt":   "A\nB\x00\nC",
		"agents/many.txt":  strings.Repeat("x\n", 10) + lines(3000),
		"agents/huge.txt":  strings.Repeat("x", maxFile+1),
		"secret.txt":       "S",
	}
	for name, text := range files {
		path := filepath.Join(parent, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(parent, "secret.txt"), filepath.Join(folder, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want, err string }{
		{"list", "ua.txt", "User-Agent=A 1,B 2", ""},
		{"absolute", filepath.Join(folder, "sub", "x.txt"), "User-Agent=C", ""},
		{"outside", "../secret.txt", "", "leads out"},
		{"absolute outside", filepath.Join(parent, "secret.txt"), "", "leads out"},
		{"link outside", "link.txt", "", "cannot be read"},
		{"missing", "none.txt", "", "cannot be read"},
		{"folder", "sub", "", "not a regular file"},
		{"no lines", "empty.txt", "", "no lines"},
		{"line that cannot be sent", "bad.txt", "User-Agent=A", `whose line "B\x00" cannot be sent`},
		{"too big", "huge.txt", "", "the file exceeds"},
	} {
		rule, err := Parse("file://" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		rule, err = rule.Resolve(folder)
		if got := show(rule); got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	rule, _ := Parse("file://many.txt")
	rule, err := rule.Resolve(folder)
	if err == nil || len(rule.fields[0].values) != maxValues {
		t.Errorf("many: %v", err)
	}
	rule, _ = Parse("file://ua.txt")
	if _, err := rule.Resolve(""); err == nil {
		t.Error("files are read without a folder")
	}
	if got := New(Options{}).Headers(rule, "s", "d"); len(got) != 0 {
		t.Errorf("not resolved, but sends %v", got)
	}
	rule, _ = Parse("A: b")
	if rule, err := rule.Resolve(""); err != nil || show(rule) != "A=b" {
		t.Error(show(rule), err)
	}
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "agent %d\n", i)
	}
	return b.String()
}

// sent calls Headers n times and joins the values of the last header.
func sent(r *Rotator, rule Rule, site, domain string, n int) string {
	var list []string
	for range n {
		h := r.Headers(rule, site, domain)
		list = append(list, h[len(h)-1].Value)
	}
	return strings.Join(list, "")
}

func mustParse(t *testing.T, text string) Rule {
	t.Helper()
	rule, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

func TestHeaders(t *testing.T) {
	rule := mustParse(t, `{"Accept":"x","User-Agent":["a","b","c"]}`)
	for name, r := range map[string]*Rotator{"memory": New(Options{}), "files": New(Options{Dir: t.TempDir()})} {
		if got := sent(r, rule, "s", "d", 7); got != "abcabca" {
			t.Errorf("%s: %s", name, got)
		}
		if got := sent(r, rule, "s", "other", 2) + sent(r, rule, "other", "d", 2) + sent(r, rule, "s", "d", 2); got != "ababbc" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	rule := mustParse(t, `{"User-Agent":["a","b","<c>"]}`)
	r, other := New(Options{Dir: dir}), New(Options{Dir: dir})
	sent(r, rule, "s", "example.com", 4)
	sent(other, rule, "s", "example.com", 1)
	for _, each := range []*Rotator{r, other, r} {
		if err := each.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "example.com", "s.json")
	text, err := os.ReadFile(path)
	if want := `{"User-Agent":{"<c>":1,"a":3,"b":1}}` + "\n"; err != nil || string(text) != want {
		t.Errorf("file %s, %v", text, err)
	}
	if got := sent(New(Options{Dir: dir}), rule, "s", "example.com", 4) + sent(other, rule, "s", "example.com", 1); got != "b<c>b<c>b" {
		t.Error(got)
	}
	if len(r.places) != 0 || len(other.places) != 1 {
		t.Errorf("%d and %d places in memory", len(r.places), len(other.places))
	}
}

func TestFilesChangedByHand(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "d", "s.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	rule := mustParse(t, `{"A":["a","b"]}`)
	for content, want := range map[string]string{
		`{"A":{"a":9223372036854775807,"b":9223372036854775807}}`: "aaa",
		`{"A":{"a":-5,"b":0}}`: "aba",
		`{"A":{"a":"x"}}`:      "aba",
		`null`:                 "aba",
		`{"A":null}`:           "aba",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := New(Options{Dir: dir})
		if got := sent(r, rule, "s", "d", 3); got != want {
			t.Errorf("%s: %s", content, got)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBounds(t *testing.T) {
	rule := mustParse(t, `{"A":["a","b"]}`)
	r := New(Options{})
	for i := range maxPlaces + 100 {
		sent(r, rule, "s", fmt.Sprint(i), 1)
	}
	if len(r.places) > maxPlaces {
		t.Errorf("%d places", len(r.places))
	}
	values, fresh := map[string]int64{}, map[string]int64{"5": 1}
	for i := range maxKept + 100 {
		values[fmt.Sprint(i)] = 1
	}
	if pruneValues(values, fresh); len(values) != maxKept || values["5"] != 1 {
		t.Errorf("%d values are kept", len(values))
	}
}

func TestAFailedSaveIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	r, rule := New(Options{Dir: dir}), mustParse(t, `{"A":["a","b"]}`)
	sent(r, rule, "s", "d", 3)
	block := filepath.Join(dir, "d")
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(t.Context()); err == nil {
		t.Error("saved into a file")
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(t.Context()); err != nil {
		t.Error(err)
	}
	if got := sent(New(Options{Dir: dir}), rule, "s", "d", 2); got != "ba" {
		t.Error(got)
	}
}

// Many goroutines and savers count each use once.
func TestGoroutines(t *testing.T) {
	dir := t.TempDir()
	rule := mustParse(t, `{"A":["a","b"]}`)
	var wg sync.WaitGroup
	for range 2 {
		r := New(Options{Dir: dir})
		for range 2 {
			wg.Go(func() {
				for range 20 {
					sent(r, rule, "s", "d", 5)
					if err := r.Save(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	sum := int64(0)
	for _, n := range New(Options{Dir: dir}).readCounts(place{"d", "s"})["A"] {
		sum += n
	}
	if sum != 400 {
		t.Errorf("counted %d", sum)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"A: b\n#\nC:d", `{"a":["b",5]}`, `{"a":{}}`, "file://x", `{"User-Agent":"file://../x"}`, "{", ":"} {
		f.Add(text)
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		rule, _ := Parse(text)
		rule, _ = rule.Resolve(folder)
		for _, h := range New(Options{}).Headers(rule, "s", "d") {
			if !validName(h.Name) || !validValue(h.Value) {
				t.Errorf("%q: %q cannot be sent", h.Name, h.Value)
			}
		}
	})
}
