package wordcount_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
	"hce/dc/internal/apps/archive/wordcount"
)

func TestHTML(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want wordcount.Count
	}{
		"words":            {"<title>A day</title><p>The day, the night.", wordcount.Count{"a": 1, "day": 2, "the": 2, "night": 1}},
		"no text":          {"<script>var a = 1</script><style>b {}</style><template>c</template><!-- d --><noscript>e</noscript>", wordcount.Count{}},
		"inside of a word": {"<p>w<b>or</b>d<br>next<td>cell", wordcount.Count{"word": 1, "next": 1, "cell": 1}},
		"entities":         {"<p>Stra&szlig;e&nbsp;&Auml;pfel", wordcount.Count{"straße": 1, "äpfel": 1}},
		"joined":           {"e-mail don't it’s -x- a--b 'q' soft&shy;hyphen", wordcount.Count{"e-mail": 1, "don't": 1, "it’s": 1, "x": 1, "a": 1, "b": 1, "q": 1, "softhyphen": 1}},
		"numbers":          {"<p>3 times 3.5", wordcount.Count{"3": 2, "times": 1, "5": 1}},
		"Chinese":          {"<p>中文 ab", wordcount.Count{"中": 1, "文": 1, "ab": 1}},
		"charset":          {"<meta charset=windows-1251><p>\xef\xf0\xe8\xe2\xe5\xf2", wordcount.Count{"привет": 1}},
		"unclosed":         {"<p>one<script>two", wordcount.Count{"one": 1}},
		"empty":            {"", wordcount.Count{}},
	} {
		if got := wordcount.HTML([]byte(c.page), "text/html"); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	c := wordcount.HTML([]byte("b a b c"), "")
	if got := string(c.Text()); got != "total 4\ndistinct 3\n\nb 2\na 1\nc 1\n" {
		t.Errorf("%q", got)
	}
	if got := c.XML(); got != "<total>4</total><distinct>3</distinct>" {
		t.Error(got)
	}
}

// Any bytes are a page, and words.txt has a line for each word.
func FuzzHTML(f *testing.F) {
	f.Add([]byte("<p>one <b>two</b> don't <script>x</script>"))
	f.Add([]byte("\xff\xfe<\x00p\x00>\x00"))
	f.Fuzz(func(t *testing.T, page []byte) {
		c := wordcount.HTML(page, "text/html")
		text := string(c.Text())
		if !utf8.ValidString(text) || strings.Count(text, "\n") != 3+len(c) {
			t.Errorf("%d words: %q", len(c), text)
		}
	})
}

// run runs a count and returns the states by page.
func run(t *testing.T, s archive.Store, where string) map[string]wordcount.State {
	t.Helper()
	states := map[string]wordcount.State{}
	err := wordcount.Run(t.Context(), s, where, func(r wordcount.Result) error {
		if states[r.URL] != "" {
			t.Errorf("%s is reported twice", r.URL)
		}
		states[r.URL] = r.State
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// Both results are stored, with the newest version; a second run finds them.
func TestRun(t *testing.T) {
	s := archivetest.New(t)
	s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>old"})
	s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>one two two", "/b.html": "<p>b", "/it's\\.html": "<p>c", "/c.bin": "no page"})
	want := map[string]wordcount.State{"http://example.org/a.html": "counted", "http://example.org/b.html": "counted", "http://example.org/it's\\.html": "counted"}
	if got := run(t, s, "domain = 'example.org'"); !maps.Equal(got, want) {
		t.Errorf("first run: %v", got)
	}
	list, err := s.Query(t.Context(), archive.Query{Where: "url LIKE '%/a.html'", OrderBy: "commitTime DESC"})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if got := archivetest.Read(t, s, list[0], "words.txt"); !strings.HasPrefix(got, "total 3\ndistinct 2\n\ntwo 2\n") {
		t.Errorf("%q", got)
	}
	if node, err := s.Tag(t.Context(), list[0], "wordcount"); err != nil || node != "<wordcount><total>3</total><distinct>2</distinct></wordcount>" {
		t.Errorf("%q %v", node, err)
	}
	if _, err := s.Open(t.Context(), list[1], "words.txt"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("the old version: %v", err)
	}
	for url := range want {
		want[url] = wordcount.Present
	}
	if got := run(t, s, ""); !maps.Equal(got, want) {
		t.Errorf("second run: %v", got)
	}
	if got := run(t, s, "domain = 'other' OR 1 = 0"); len(got) != 0 {
		t.Errorf("other domain: %v", got)
	}
}

// A run that was killed between its two writes is completed by the next one.
func TestCompletion(t *testing.T) {
	s := archivetest.New(t)
	s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>one", "/b.html": "<p>two"})
	list, err := s.Query(t.Context(), archive.Query{OrderBy: "url"})
	if err != nil {
		t.Fatal(err)
	}
	if err := archivetest.Write(t, s, list[0], "words.txt", "total 1\ndistinct 1\n\none 1\n"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetTag(t.Context(), list[1], "wordcount", "x"); err != nil {
		t.Fatal(err)
	}
	for _, state := range run(t, s, "") {
		if state != wordcount.Counted {
			t.Errorf("%s", state)
		}
	}
	if _, err := s.Tag(t.Context(), list[0], "wordcount"); err != nil {
		t.Error(err)
	}
	if got := archivetest.Read(t, s, list[1], "words.txt"); !strings.HasPrefix(got, "total 1\n") {
		t.Errorf("%q", got)
	}
}

// crawling crawls before a page is written.
type crawling struct {
	*archivetest.Store
	crawl func()
}

func (c crawling) Create(ctx context.Context, m archive.Meta, name string) (archive.Writer, error) {
	c.crawl()
	return c.Store.Create(ctx, m, name)
}

// A page that crawls replace again and again, or do not find any more, is reported; one that one crawl replaces is counted.
func TestOutdated(t *testing.T) {
	s := archivetest.New(t)
	s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>one", "/gone.html": "<p>two"})
	got := run(t, crawling{s, func() { s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>three"}) }}, "")
	if want := (map[string]wordcount.State{"http://example.org/a.html": "outdated", "http://example.org/gone.html": "gone"}); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestReplacedOnce(t *testing.T) {
	s := archivetest.New(t)
	s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>one", "/gone.html": "<p>two"})
	var once sync.Once
	replace := func() { once.Do(func() { s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>three four"}) }) }
	got := run(t, crawling{s, replace}, "")
	if want := (map[string]wordcount.State{"http://example.org/a.html": "counted", "http://example.org/gone.html": "gone"}); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := archivetest.Read(t, s, archivetest.Page(t, s), "words.txt"); !strings.HasPrefix(got, "total 2\n") {
		t.Errorf("%q", got)
	}
}

// lost is a store whose connection is lost.
type lost struct{ archive.Store }

func (lost) Open(context.Context, archive.Meta, string) (io.ReadCloser, error) {
	return nil, io.ErrUnexpectedEOF
}

func TestEnds(t *testing.T) {
	s := archivetest.New(t)
	s.Crawl(t, "example.org", map[string]string{"/a.html": "<p>one", "/b.html": "<p>two"})
	report := func(wordcount.Result) error { return nil }
	if err := wordcount.Run(t.Context(), lost{s}, "", report); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("lost connection: %v", err)
	}
	if err := wordcount.Run(t.Context(), s, "SLEEP(9)", report); !errors.Is(err, archive.ErrInvalid) {
		t.Errorf("bad condition: %v", err)
	}
	full := errors.New("disk full")
	if err := wordcount.Run(t.Context(), s, "", func(wordcount.Result) error { return full }); !errors.Is(err, full) {
		t.Errorf("report: %v", err)
	}
}

// More pages than one query returns, with several versions each.
func TestManyPages(t *testing.T) {
	s := archivetest.New(t)
	pages := map[string]string{}
	for i := range 600 {
		pages[fmt.Sprintf("/%d.html", i)] = "<p>word"
	}
	s.Crawl(t, "example.org", pages)
	s.Crawl(t, "example.org", pages)
	got := run(t, s, "")
	for url, state := range got {
		if state != wordcount.Counted {
			t.Errorf("%s: %s", url, state)
		}
	}
	if len(got) != 600 {
		t.Errorf("%d pages", len(got))
	}
}
