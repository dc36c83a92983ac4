package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const page = "http://example.org/a"

var noon = Stamp(1767268800_000000000)

func TestStatus(t *testing.T) {
	for text, want := range map[string]string{
		"0 0000000000":   "{0 0000000000}",
		"1 9999999999":   "{1 9999999999}",
		"4 0000000042":   "{4 0000000042}",
		"":               "1: 0 bytes",
		"0 000000000":    "12: 11 bytes",
		"0 0000000000\n": "13: 13 bytes",
		"5 0000000000":   "1: state '5'",
		"000000000001":   "2: filler '0'",
		"0 00000x0000":   "8: last id",
		"0  000000001":   "3: last id",
	} {
		s, err := ParseStatus(text)
		got := fmt.Sprintf("{%c %s}", s.State, s.LastID)
		if err != nil {
			c := err.(columnError)
			got = fmt.Sprintf("%d: %v", c.column, c.error)
		} else if s.String() != text {
			t.Errorf("%q is written as %q", text, s)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The record layout is that of docs/ose.md, column by column.
func TestRecordLayout(t *testing.T) {
	whole := Record{ID: 7, Code: 200, Streamed: noon, Parsed: noon + 1, URL: page}
	for want, r := range map[string]Record{
		"0000000007 200 1767268800000000000 1767268800000000001 http://example.org/a\n": whole,
		"0000000007 000 1767268800000000000                     http://example.org/a\n": {ID: 7, Streamed: noon, URL: page},
		"                                                       http://example.org/a\n": {URL: page},
	} {
		line := string(r.Append(nil))
		if line != want {
			t.Errorf("%q, want %q", line, want)
		}
		if got, err := ParseRecord(strings.TrimSuffix(line, "\n")); err != nil || got != r {
			t.Errorf("%+v, %v", got, err)
		}
	}
	good := strings.TrimSuffix(string(whole.Append(nil)), "\n")
	for _, c := range []struct {
		change func(string) string
		want   string
	}{
		{func(s string) string { return s[:40] }, "41: the record ends"},
		{func(s string) string { return s[:55] }, "56: the record ends"},
		{func(s string) string { return s[:10] + "x" + s[11:] }, "11: filler 'x'"},
		{func(s string) string { return s[:54] + "\x00" + s[55:] }, "55: filler"},
		{func(s string) string { return "000000000x" + s[10:] }, "10: URLID"},
		{func(s string) string { return "0000000000" + s[10:] }, "1: URLID 0"},
		{func(s string) string { return blankID + s[10:] }, "1: URLID"},
		{func(s string) string { return s[:11] + "2 0" + s[14:] }, "13: HTTPRC"},
		{func(s string) string { return s[:15] + blankStamp + s[34:] }, "16: STREAMED"},
		{func(s string) string { return s[:15] + "9999999999999999999" + s[34:] }, "16: STREAMED"},
		{func(s string) string { return s[:35] + "0000000000000000000" + s[54:] }, "36: PARSED 0"},
		{func(s string) string { return s[:55] + "mailto:a@b.example" }, "56: URL: scheme not allowed"},
		{func(s string) string { return s[:55] + "HTTP://example.org/a" }, `56: the URL is not canonical: write "http://example.org/a"`},
		{func(s string) string { return s + "#" }, "56: the URL"},
		{func(s string) string { return s + "\r" }, "56: the URL is not canonical"},
		{func(s string) string { return s + strings.Repeat("x", 5000) }, "56: URL: URL too long"},
	} {
		text := c.change(good)
		_, err := ParseRecord(text)
		column, ok := err.(columnError)
		if got := fmt.Sprintf("%d: %v", column.column, err); !ok || !strings.HasPrefix(got, c.want) {
			t.Errorf("%.80q: %s, want %s", text, got, c.want)
		}
	}
}

func TestMeta(t *testing.T) {
	m := Meta{URL: page, Code: 404, Streamed: noon, Head: 3, Size: 5, MD5: strings.Repeat("0f", 16), Millis: 12, Error: "a fault"}
	for _, m := range []Meta{m, {URL: page, Streamed: noon, MD5: m.MD5, Millis: -1}, {URL: page, Streamed: noon, MD5: m.MD5, Millis: -1, Error: "x: y"}} {
		if got, err := ParseMeta("m", string(m.Append(nil))); err != nil || got != m {
			t.Errorf("%+v, %v", got, err)
		}
	}
	good := string(m.Append(nil))
	for _, c := range [][3]string{
		{"url: http", "url: HTTP", "m:1:6: url: the URL is not canonical"},
		{"code: 404", "code: 4O4", "m:2:7: code: "},
		{"code: 404", "code: 4", "m:2:7: code: "},
		{"streamed: ", "begun: ", `m:3:1: "begun: 1767268800000000000" instead of "streamed: "`},
		{"head: 3", "head: 6", "m: head 6 is above size 5"},
		{"size: 5", "size: 05", "m:5:7: size: "},
		{"md5: 0f", "md5: 0F", "m:6:6: md5: "},
		{"ms: 12\n", "", ""},
		{"ms: 12\n", "ms: -1\n", "m:7:5: ms: "},
		{"error: a fault\n", "error: a fault", "m:8:15: no line feed"},
		{"error: a fault\n", "error: a fault\nmore: 1\n", `m:9:1: "more: 1" instead of the end`},
		{"error: a fault\n", "error: a\tfault\n", "m:8:8: error: "},
		{good, "", `m:1:1: the file ends before "url"`},
	} {
		_, err := ParseMeta("m", strings.Replace(good, c[0], c[1], 1))
		if got := fmt.Sprint(err); err == nil && c[2] != "" || err != nil && (c[2] == "" || !strings.HasPrefix(got, c[2])) {
			t.Errorf("%q: %s, want %s", c[1], got, c[2])
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine(" a\nb\x1b\xff" + strings.Repeat("é", 900)); !strings.HasPrefix(got, "a b \uFFFDé") || len(got) > maxError {
		t.Errorf("%.20q, %d bytes", got, len(got))
	}
}

// filled returns a folder with one page.
func filled(t *testing.T) *Folder {
	t.Helper()
	f, err := Create(filepath.Join(t.TempDir(), "example.org"), []string{page, page + "b"})
	if err != nil {
		t.Fatal(err)
	}
	b := f.NewBatch()
	head := "HTTP/1.1 200 \r\n\r\n"
	p := Page{ID: 1, Data: []byte(head + "text"), Meta: Meta{URL: page, Code: 200, Streamed: noon, Head: int64(len(head)), Millis: 1}}
	r := Record{ID: 1, Code: 200, Streamed: noon, Parsed: noon, URL: page}
	err = errors.Join(b.WritePage(p), b.Write(LinksName(1), AppendLinks(nil, []string{page})), b.Write(MalformedName(1), AppendMalformed(nil, []string{"a\\\nb"})),
		b.Write(URLsName, Record{URL: page + "b"}.Append(r.Append(nil))), f.SetStatus(Status{Idle, 1}), f.SetMerged(1), b.Sync())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A folder as the cycle writes it has no fault. Whatever is changed in it is reported with its place.
func TestCheck(t *testing.T) {
	write := func(name, text string) func(*Folder) error {
		return func(f *Folder) error { return os.WriteFile(f.Path(name), []byte(text), 0o600) }
	}
	remove := func(name string) func(*Folder) error {
		return func(f *Folder) error { return os.Remove(f.Path(name)) }
	}
	link := func(name, to string) func(*Folder) error {
		return func(f *Folder) error {
			return errors.Join(os.Remove(f.Path(name)), os.Symlink(to, f.Path(name)))
		}
	}
	line := string(Record{ID: 1, Code: 200, Streamed: noon, URL: page}.Append(nil))
	for name, c := range map[string]struct {
		change func(*Folder) error
		want   []string
	}{
		"as written":       {func(*Folder) error { return nil }, nil},
		"a temporary file": {write("0000000002.tmp", "x"), nil},
		"state":            {write(StatusName, "9 0000000001"), []string{".osestatus:1:1: ", ".urls:1:1: the URLID is above"}},
		"last id":          {write(StatusName, "0 0000000000"), []string{".urls:1:1: the URLID is above"}},
		"status is a link": {link(StatusName, "/etc/hostname"), []string{".osestatus: a symbolic link", ".urls:1:1: the URLID is above"}},
		"urls is a link":   {link(URLsName, "/etc/passwd"), []string{".urls: a symbolic link", "0000000001: .urls has no record", "0000000001: .urls has no record", "0000000001: .urls has no record", "0000000001: .urls has no record"}},
		"a folder for a page": {func(f *Folder) error {
			return errors.Join(remove("0000000001")(f), os.Mkdir(f.Path("0000000001"), 0o700))
		}, []string{"0000000001: is not a regular file"}},
		"page twice":              {write(URLsName, line+line), []string{".urls:2:56: the URL is here", ".urls:2:1: the URLID is here"}},
		"same page, other escape": {write(URLsName, line+string(Record{URL: "http://example.org/%61"}.Append(nil))), []string{".urls:2:56: the URL is here"}},
		"torn":                    {write(URLsName, line+line[:20]), []string{".urls:2:21: no line feed"}},
		"huge line":               {write(URLsName, line+strings.Repeat("x", 1<<20)), []string{".urls:2:4152: the record is longer"}},
		"body":                    {write("0000000001", "other"), []string{"0000000001: 5 bytes with md5"}},
		"no body":                 {remove("0000000001"), []string{"0000000001: no such file"}},
		"other page":              {write(URLsName, strings.Replace(line, " 200 ", " 201 ", 1)), []string{".meta.0000000001: is not of the request"}},
		"link":                    {write(LinksName(1), page+"\nftp://x\n"), []string{".links.0000000001:2:1: URL: scheme"}},
		"malformed":               {write(MalformedName(1), "a\\q\n"), []string{".links.malformed.0000000001:1:2: "}},
		"stray":                   {write(MetaName(8), "x"), []string{".meta.0000000008: .urls has no record"}},
		"other file":              {write("README", "x"), []string{"README: is no file of the cycle"}},
		"next urls":               {write(URLsName+"2", "x"), []string{".urls2: is no file of the cycle"}},
		"merged":                  {write(MergedName, "12"), []string{".osemerged:1:1: "}},
	} {
		t.Run(name, func(t *testing.T) {
			f := filled(t)
			if err := c.change(f); err != nil {
				t.Fatal(err)
			}
			var got []string
			f.Check(func(err error) { got = append(got, strings.ReplaceAll(err.Error(), f.Dir+"/", "")) })
			ok := len(got) == len(c.want)
			for i := 0; ok && i < len(got); i++ {
				ok = strings.Contains(got[i], c.want[i])
			}
			if !ok {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	f := filled(t)
	free, err := f.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{Dir: f.Dir, State: "idle", Running: true, LastID: 1, URLs: 2, Fetched: 1, Parsed: 1, Codes: map[string]int{"200": 1}}
	got, err := f.Summary()
	free()
	if again, err2 := f.Summary(); err != nil || err2 != nil || again.Running || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, %v", got, err, err2)
	}
}

// Create and New leave a folder with other files as it is.
func TestCreate(t *testing.T) {
	f := filled(t)
	if _, err := Create(f.Dir, []string{page}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if _, err := Open(f.Path("0000000001")); !errors.Is(err, ErrNoTarget) {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoTarget) {
		t.Errorf("%v", err)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "x"), []string{"example.org"}); err == nil {
		t.Error("a URL that is not canonical is accepted")
	}
}

// 200,000 records are read and written in a moment, and the reader holds one of them.
func TestLongList(t *testing.T) {
	f := &Folder{t.TempDir()}
	var list []byte
	const n = 200_000
	for i := range n {
		list = Record{ID: ID(i + 1), Code: 200, Streamed: noon, Parsed: noon, URL: fmt.Sprint("http://example.org/page/", i)}.Append(list)
	}
	if err := os.WriteFile(f.Path(URLsName), list, 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	urls, err := f.URLs()
	if err != nil {
		t.Fatal(err)
	}
	defer urls.Close()
	count := 0
	for r, err := range urls.All() {
		if err != nil || r.ID != ID(count+1) {
			t.Fatal(r, err)
		}
		count++
	}
	if count != n || urls.Offset != int64(len(list)) {
		t.Errorf("%d records, %d bytes", count, urls.Offset)
	}
	t.Logf("%d records of %d bytes in %v", n, len(list), time.Since(begin))
}

func FuzzStatus(f *testing.F) {
	f.Add("0 0000000001")
	f.Add("4x9999999999")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseStatus(text); err == nil && s.String() != text {
			t.Errorf("%q is written as %q", text, s)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add(string(Record{ID: 7, Code: 200, Streamed: noon, Parsed: noon, URL: page}.Append(nil)))
	f.Add(string(Record{URL: page}.Append(nil)))
	f.Fuzz(func(t *testing.T, text string) {
		r := newReader("f", strings.NewReader(text), nil)
		var again []byte
		for record, err := range r.All() {
			var fault *Fault
			if err == nil {
				again = record.Append(again)
			} else if !errors.As(err, &fault) || fault.Line == 0 || fault.Column == 0 {
				t.Fatalf("%v", err)
			}
		}
		if int64(len(again)) != r.Offset || string(again) != text[:r.Offset] {
			t.Errorf("%q is written as %q", text[:r.Offset], again)
		}
	})
}

func FuzzMeta(f *testing.F) {
	f.Add(string(Meta{URL: page, Code: 404, Streamed: noon, Head: 3, Size: 5, MD5: strings.Repeat("0f", 16), Millis: 12, Error: "a fault"}.Append(nil)))
	f.Add("url: http://a/\ncode: 000\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMeta("m", text)
		var fault *Fault
		if err == nil && string(m.Append(nil)) != text || err != nil && !errors.As(err, &fault) {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	})
}

func FuzzMalformed(f *testing.F) {
	f.Add("a\\b\n\x7f\xff")
	f.Fuzz(func(t *testing.T, text string) {
		line := string(AppendMalformed(nil, []string{text}))
		if got, err := unescapeLine(strings.TrimSuffix(line, "\n")); err != nil || got != text || strings.Count(line, "\n") != 1 {
			t.Errorf("%q is written as %q and read as %q, %v", text, line, got, err)
		}
		if got, err := unescapeLine(text); err == nil && string(AppendMalformed(nil, []string{got})) != text+"\n" {
			t.Errorf("%q is read as %q", text, got)
		}
	})
}
