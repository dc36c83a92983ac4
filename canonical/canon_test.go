package canonical

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var errorNames = map[string]error{
	"!syntax": ErrSyntax, "!scheme": ErrScheme, "!relative": ErrRelative, "!length": ErrLength,
}

// readTable reads a table of n tab-separated columns. The escapes \t, \n and \r in a column
// mean those characters. Lines that begin with "# " are comments.
func readTable(t testing.TB, name string, n int) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r")
	var out [][]string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "# ") && !strings.Contains(sc.Text(), "\thttp") {
			continue
		}
		cols := strings.Split(sc.Text(), "\t")
		if len(cols) != n {
			t.Fatalf("%s: %q has %d columns", name, sc.Text(), len(cols))
		}
		for i := range cols {
			cols[i] = unescape.Replace(cols[i])
		}
		out = append(out, cols)
	}
	if len(out) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return out
}

func check(t *testing.T, got string, err error, want string) {
	t.Helper()
	if strings.HasPrefix(want, "!") {
		if target := errorNames[want]; target == nil || !errors.Is(err, target) || got != "" {
			t.Errorf("got %q, %v; want %s", got, err, want)
		}
		return
	}
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestCanonical(t *testing.T) {
	for _, row := range readTable(t, "canonical.tsv", 2) {
		t.Run(row[0], func(t *testing.T) {
			got, err := Canonical(row[0])
			check(t, got, err, row[1])
			agree(t, "", row[0])
		})
	}
}

func TestResolve(t *testing.T) {
	table := readTable(t, "resolve.tsv", 3)
	t.Logf("judge: URL resolution: %d own cases", len(table))
	for _, row := range table {
		t.Run(row[0]+" "+row[1], func(t *testing.T) {
			got, err := Web.Resolve(row[0], row[1])
			check(t, got, err, row[2])
			agree(t, row[0], row[1])
		})
	}
}

func TestOtherSchemes(t *testing.T) {
	for raw, want := range map[string]string{
		"mailto:x@y":                      "mailto:x@y",
		"mailto:x@y #z":                   "mailto:x@y",
		"FTP://Ex.com.:021/a//b/../c#f":   "ftp://ex.com/a//c",
		"gopher://h:70/x":                 "gopher://h/x",
		"gopher://h:71":                   "gopher://h:71",
		"snews://h:563/x?":                "snews://h/x",
		"file:///C|/a//b":                 "file:///C:/a//b",
		"https://ex.com/a?b=\"<>":         "https://ex.com/a?b=%22%3C%3E",
		"news:comp.lang.go":               "news:comp.lang.go",
		"http://\u3042.example/\u3042#!a": "http://xn--l8j.example/%E3%81%82",
	} {
		got, err := Schemes(nil).Canonical(raw)
		check(t, got, err, want)
		agree(t, "", raw)
	}
	ftp := Schemes{"ftp"}
	_, err := ftp.Canonical("example.com")
	check(t, "", err, "!scheme")
	_, err = ftp.Resolve("http://ex.com/", "/a")
	check(t, "", err, "!scheme")
	got, err := ftp.Resolve("ftp://ex.com/a/b", "../c")
	check(t, got, err, "ftp://ex.com/c")
}

func TestLength(t *testing.T) {
	fits := "http://ex.com/" + strings.Repeat("a", MaxLength-len("http://ex.com/"))
	got, err := Canonical(fits)
	check(t, got, err, fits)
	_, err = Canonical(fits + "a")
	check(t, "", err, "!length")
	got, err = Canonical(fits + "#" + strings.Repeat("f", 99))
	check(t, got, err, fits)
	_, err = Web.Resolve("http://ex.com/", fits[len("http://ex.com/")-1:]+"a")
	check(t, "", err, "!length")
	_, err = Web.Resolve("http://ex.com/", "?"+strings.Repeat("x", maxInput))
	check(t, "", err, "!length")
	_, err = Web.Resolve("http://ex.com/", "data:"+strings.Repeat("x", 1<<20))
	check(t, "", err, "!scheme")
	// Percent-encoding triples the length of each space.
	_, err = Canonical("http://ex.com/" + strings.Repeat(" a", MaxLength/2))
	check(t, "", err, "!length")
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		mask      Mask
		want      string
	}{
		{"mask 0 trims", " HTTP://WWW.ex.com ", 0, "HTTP://WWW.ex.com"},
		{"www", "http://www.ex.com/?u=://www.x", SkipWWW, "http://ex.com/?u=://www.x"},
		{"www only in the query", "http://ex.com/?u=://www.x", SkipWWW, "http://ex.com/?u=://www.x"},
		{"www without a domain", "http://www./x", SkipWWW, "http://www./x"},
		{"main", " HTTP://www.Ex.com", Main, "http://www.ex.com/"},
		{"main and www", "HTTP://www.Ex.com", Main | SkipWWW, "http://ex.com/"},
		{"main keeps a malformed URL", "http://a b/ ", Main, "http://a b/"},
		{"main and validate", "http://a b/", Main | Validate, "!syntax"},
		{"validate without main", "http://a b/", Validate, "http://a b/"},
		{"main keeps a relative URL", "/path/x", Main, "/path/x"},
		{"relative URL with validate", "/path/x", Main | Validate, "!relative"},
		{"unlisted scheme", "mailto:x@y", Main, "!scheme"},
		{"unknown bits", "http://Ex.com", 8, "http://Ex.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Web.Normalize(c.raw, c.mask)
			check(t, got, err, c.want)
		})
	}
	got, err := Schemes(nil).Normalize("mailto:x@y", Main|Validate)
	check(t, got, err, "mailto:x@y")
}

func TestParts(t *testing.T) {
	for _, c := range []struct{ url, host string }{
		{"http://ex.com/a?b://c", "ex.com"},
		{"https://Ex.com:443/", "ex.com"},
		{"http://ex.com:443", "ex.com:443"},
		{"http://ex.com:80?q", "ex.com"},
		{"http://u:p@ex.com:8080/", "ex.com:8080"},
		{"http://[::1]:80/", "[::1]"},
		{"mailto:x@y", ""},
		{"http:///x", ""},
		{"", ""},
	} {
		if got := Host(c.url); got != c.host {
			t.Errorf("Host(%q) = %q, want %q", c.url, got, c.host)
		}
	}
}

func TestParserPanicIsAnError(t *testing.T) {
	for _, raw := range []string{
		"http://[1:2:3:4:5:6:1.2.3.4.5]/", "http://[::1.2.3.4.5.6]/", "http://[]/", "http://[:/",
		"http://[1:2:3:4:5:6:7:8:9]/", "http://[1::2::3]/", "http://[::1", "http://[:::::::::::]/",
		"http://[1:1:1:1:1:1:1.1.1.1.1.1]/",
	} {
		if got, err := Canonical(raw); err == nil {
			t.Errorf("Canonical(%q) = %q, want an error", raw, got)
		}
	}
}

// Too many "@" in the authority are a syntax error; elsewhere they are data.
func TestTooManyAtSigns(t *testing.T) {
	ats := strings.Repeat("@", 2000)
	for _, ref := range []string{"http://" + ats, "//" + ats + "x/", `\\` + ats, "http:" + ats + "/"} {
		_, err := Web.Resolve("http://ex.com/", ref)
		check(t, "", err, "!syntax")
	}
	for _, ref := range []string{"/" + ats, ats, "?" + ats, "//ex.com/" + ats} {
		agree(t, "http://ex.com/", ref)
		if _, err := Web.Resolve("http://ex.com/", ref); err != nil {
			t.Error(err)
		}
	}
}
