package hce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
)

// TestExportOptions: every option of hce export does what it says with every format, or is refused with
// exit status 2 and a message that says what to type.
func TestExportOptions(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite("https://example.org/")
	for _, name := range []string{"good", "noindex", "gone"} {
		stores.AddPage(site, "https://example.org/"+name, "Title", "text")
	}
	stores.AddURL(site, "https://example.org/failed", map[string]any{"status": wire.StatusCrawled, "crawled": 1, "httpCode": 503, "errorMask": int64(errormask.HTTP)})
	for name, change := range map[string]map[string]any{"noindex": {"robotsMask": wire.RobotsNoIndex}, "gone": {"httpCode": 404, "errorMask": int64(errormask.HTTP), "state": wire.URLError}} {
		change["siteId"], change["urlMd5"] = site, urlkey.Of("https://example.org/"+name)
		if err := stores.Ask(t.Context(), wire.URLUpdate, []any{change}, nil); err != nil {
			t.Fatal(err)
		}
	}
	const (
		tables, archives = "jsonl csv parquet", "files warc wacz"
		onlyTo           = "md files wacz" // a folder or a file
		printed, stdout  = 1, 2
	)
	type m = map[string]string // by format, or by a list of formats; "": all others
	want := []struct {
		name    string
		options exportOptions
		how     int // flags
		// want is the number of written pages, or a part of the message that refuses.
		want m
	}{
		{"no option", exportOptions{}, 0, m{"": "1", archives: "2"}},
		{"--all", exportOptions{all: true}, 0, m{"": "4", "md files": "3"}},
		{"--noindex", exportOptions{noindex: true}, 0, m{"": "2", archives: "--where 'RobotsMask & 1 = 0'"}},
		{"--noindex --all", exportOptions{noindex: true, all: true}, 0, m{"": "4", "md": "3", archives: "leave the option out"}},
		{"--where for --noindex", exportOptions{where: "RobotsMask & 1 = 0"}, 0, m{"": "1"}},
		{"--where", exportOptions{where: "URL LIKE '%/good'"}, 0, m{"": "1"}},
		{"--where without an end", exportOptions{where: "URL LIKE '%/good"}, 0, m{"": "quotes do not match"}},
		{"--since", exportOptions{since: "2026-03-05"}, 0, m{"": "0"}},
		{"--since before", exportOptions{since: "2026-03-01"}, 0, m{"": "1", archives: "2"}},
		{"--since without a date", exportOptions{since: "x"}, 0, m{"": "is not a date"}},
		{"--fetched-since", exportOptions{fetchedSince: "2026-03-05"}, 0, m{"": "0"}},
		{"--fields", exportOptions{fields: "url,referrers"}, 0, m{"": "--fields is for jsonl, csv and parquet", tables: "1"}},
		{"--fields without a field", exportOptions{fields: ","}, 0, m{"": "--fields is for", tables: "has no field"}},
		{"--markdown", exportOptions{markdown: true}, 0, m{"": "--markdown is for", "jsonl parquet": "1", "csv": "--fields ...,text"}},
		{"--markdown and text", exportOptions{markdown: true, fields: "url,text"}, 0, m{"": "--fields is for", tables: "1"}},
		{"--markdown without text", exportOptions{markdown: true, fields: "url"}, 0, m{"": "--fields is for", tables: "--fields ...,text"}},
		{"--force", exportOptions{force: true}, 0, m{"": "1", archives: "2"}},
		{"to stdout", exportOptions{}, stdout, m{"": "output", onlyTo: "give "}},
		{"--force to stdout", exportOptions{force: true}, stdout, m{"": "--force is for --out", onlyTo: "give "}},
		{"--json to stdout", exportOptions{}, stdout | printed, m{"": "--json prints the result of --out", "jsonl": "output", onlyTo: "give "}},
	}
	for _, tt := range want {
		for _, f := range export.Formats {
			t.Run(tt.name+"/"+f.Name, func(t *testing.T) {
				e, expected := tt.options, tt.want[""]
				for formats, special := range tt.want {
					if slices.Contains(strings.Fields(formats), f.Name) {
						expected = special
					}
				}
				e.format = f.Name
				if tt.how&stdout == 0 {
					e.out = filepath.Join(t.TempDir(), "out")
				}
				got := exportedPages(t, stores.Port, site, e, tt.how&printed != 0)
				if got != expected && (len(expected) == 1 || !strings.Contains(got, expected)) {
					t.Errorf("%s, want %s", got, expected)
				}
			})
		}
	}
}

// exportedPages returns the number of pages that an export has written, "output" if it was written to stdout, or
// the message that refuses it.
func exportedPages(t *testing.T, port, site string, e exportOptions, asJSON bool) string {
	t.Helper()
	var out, talk bytes.Buffer
	s := &subcommand.Session{Ctx: t.Context(), Out: &out, Talk: &talk, Options: subcommand.Options{Server: "127.0.0.1:" + port, JSON: asJSON || e.out != ""}}
	defer s.CloseAll()
	err := exportPages(s, []string{site}, e)
	switch {
	case err != nil && subcommand.ExitOf(err) != command.ExitRefused:
		t.Fatal(err)
	case err != nil:
		return err.Error()
	case e.out == "" && out.Len() > 0:
		return "output"
	}
	var answer struct{ Pages int }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Error(err)
	}
	return fmt.Sprint(answer.Pages)
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-01-31": "2026-01-31 00:00:00", "2026-01-31T10:00:00+02:00": "2026-01-31 08:00:00", "2026-01-31 10:11": "2026-01-31 10:11:00",
		"12h": "2026-03-10 00:00:00", "7d": "2026-03-03 12:00:00", "2w": "2026-02-24 12:00:00", "90m": "2026-03-10 10:30:00",
		"yesterday": "", "7": "", "-7d": "", "2026-13-01": "",
	} {
		at, err := parseSince("--since", text, now)
		if want == "" {
			if err == nil {
				t.Errorf("%s is %s", text, at)
			}
			continue
		}
		if got := at.UTC().Format(time.DateTime); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
