package repository

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"hce/dc/canonical"
	"hce/dc/internal/apps/archive"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name string
		want map[string]string // URL to folder; ~ at the end: with a hash
	}{
		{"plain", map[string]string{"https://h/": "index", "https://h/a.html": "a.html", "https://h/d/": "d/index", "https://h/d/e": "d/e"}},
		{"queries", map[string]string{"https://h/?": "index?", "https://h/?q=1": "index?q=1", "https://h/a.php?x=/../y&z": "a.php?x=%2F..%2Fy&z"}},
		{"folder and page", map[string]string{"https://h/a": "a~", "https://h/a/b": "a/b", "https://h/a/b/c": "a/b/c~"}},
		{"index", map[string]string{"https://h/d/": "d/index", "https://h/d/index": "d/index~"}},
		{"schemes", map[string]string{"http://h/a": "a", "https://h/a": "a~"}},
		{"case", map[string]string{"https://h/A": "A", "https://h/a": "a~"}},
		{"files of a page", map[string]string{"https://h/a/data.xml": "a/data.xml", "https://h/a": "a~"}},
		{"git", map[string]string{"https://h/.git/config": "%2Egit/config", "https://h/.gitattributes": "%2Egitattributes"}},
		{"odd", map[string]string{"https://h/~u": "%7Eu", "https://h//x": "%/x", "https://h/a%20b": "a%20b", "https://h/c:d": "c%3Ad", "https://h/e.": "e%2E"}},
		{"long", map[string]string{"https://h/" + long: strings.Repeat("x", 160) + "~", "https://h/" + strings.Repeat("y/", 200): "~long/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Names(slices.Sorted(maps.Keys(tt.want)))
			mustSucceed(t, err)
			if tt.name == "folder and page" {
				tt.want["https://h/a/b"] = "a/b~"
				tt.want["https://h/a/b/c"] = "a/b/c"
			}
			for href, want := range tt.want {
				prefix := strings.HasSuffix(want, "~") || strings.HasSuffix(want, "/")
				if got[href] != want && !(prefix && strings.HasPrefix(got[href], want)) {
					t.Errorf("%.60s: folder %s, want %s", href, got[href], want)
				}
			}
		})
	}
}

// No set of URLs gives folders that leave the domain, are equal, or contain each other.
func FuzzNames(f *testing.F) {
	f.Add("/a\n/a/\n/a/b\n/A?x/../..")
	f.Add("/%2e%2e/%2e%2e/etc/passwd\n//..//\n/.git\n/.git/config\n/%2Egit")
	f.Add("/a~12345678\n/a\n/a/x\n/~long/\n/\\..\\x\n/%00%ff\n/index\n/")
	f.Fuzz(func(t *testing.T, text string) {
		urls := map[string]bool{}
		for _, line := range strings.Split(text, "\n") {
			for _, scheme := range []string{"http", "https"} {
				href, err := canonical.Canonical(scheme + "://h" + line)
				if href, _, _ = strings.Cut(href, "#"); err != nil {
					continue
				}
				if domain, err := Domain(href); err == nil && domain == "h" {
					urls[href] = true
				}
			}
		}
		got, err := Names(slices.Sorted(maps.Keys(urls)))
		if err != nil {
			t.Fatal(err)
		}
		folders := map[string]bool{}
		for href, folder := range got {
			lower := strings.ToLower(folder)
			if path.Clean(folder) != folder || path.IsAbs(folder) || len(folder) > maxFolder+100 || folders[lower] {
				t.Errorf("%q: folder %q", href, folder)
			}
			folders[lower] = true
			for part := range strings.SplitSeq(folder, "/") {
				if part == "" || part[0] == '.' || len(part) > 255 || strings.ContainsAny(part, "\x00\n\\\"") {
					t.Errorf("%q: folder %q", href, folder)
				}
			}
		}
		for folder := range folders {
			for dir := path.Dir(folder); dir != "."; dir = path.Dir(dir) {
				if folders[dir] {
					t.Errorf("folder %q is inside of %q", folder, dir)
				}
			}
		}
	})
}

func TestDomain(t *testing.T) {
	for _, good := range []string{"example.org", "example.org:8080", "127.0.0.1", "[::1]:80", "xn--bcher-kva.example", "a_b.example"} {
		mustSucceed(t, CheckDomain(good))
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/b", ".git", "a..b", "A.example", "a b", "a.example\n", "x:y", strings.Repeat("a", 300), "~", "a%2fb"} {
		mustFail(t, CheckDomain(bad), archive.ErrInvalid)
	}
}

// Names of clients stay in the folder of the page, and cannot be files of git or data.xml.
func TestClientNames(t *testing.T) {
	for _, good := range []string{"a", "words.txt", "a/b c/d.txt", "größe.txt", "data.txt", "a\"b"} {
		mustSucceed(t, checkNewFile(good))
	}
	for _, bad := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".git/config", "a/.gitattributes", "a\x00", "a\nb", "a\\b", "c:d", "~x", "git~1", "-x", "a.", "a ",
		"\xff", "x/data.xml", "x/DATA.XML", strings.Repeat("a", 181), strings.Repeat("a/", 8) + "a", "\u202ea", "a\u2028",
	} {
		mustFail(t, checkNewFile(bad), archive.ErrInvalid)
	}
	mustFail(t, checkNewFile("data.xml"), archive.ErrExists)
}

func TestDataName(t *testing.T) {
	for _, tt := range []struct{ href, kind, want string }{
		{"https://h/a.php", "text/html", "data.html"}, {"https://h/", "text/html", "data.html"}, {"https://h/a.PNG", "image/x-none", "data.png"},
		{"https://h/f.xml", "application/xml", "data.source.xml"}, {"https://h/f.xml", "application/x-none", "data.bin"}, {"https://h/f.xml", "application/x+xml", "data.source.xml"},
		{"https://h/x", "text/x-none", "data.txt"}, {"https://h/x.a%2fb", "", "data.bin"}, {"https://h/x.tar.gz", "application/gzip", "data.gz"},
	} {
		if got := DataName(tt.href, tt.kind); got != tt.want || got == metaFile {
			t.Errorf("%s %s: %s, want %s", tt.href, tt.kind, got, tt.want)
		}
	}
	for kind := range extensions {
		if DataName("https://h/data.xml", kind) == metaFile {
			t.Errorf("%s gives %s", kind, metaFile)
		}
	}
}
