//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The commands of docs/operations.md back up a daemon at work, restore the backup on an empty machine, upgrade,
// go back, and move to a third machine. Everywhere the crawl ends with the same pages.
func TestOperationsPage(t *testing.T) {
	const n = 100
	page := operationsSections(t)
	tree := newReadmeTree(t)
	w := newWitness(t, stopsUntil(filepath.Join(tree.dir, "backup", "ini"), n-20, linked(n)))
	site := fmt.Sprintf(`{"id":"tree","urls":["%s/"],"requestDelay":0,"processingDelay":0,"filters":[{"pattern":"^%[1]s/","type":1}],"properties":{"PROCESS_CTYPES":"text/html"}}`, w.URL)
	if err := os.WriteFile(filepath.Join(tree.dir, "site.json"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		client   = "bin/dc-client -c ini/dc-client.ini "
		answers  = "until " + client + "-cmd SITE_FIND -ff '{}' >/dev/null; do sleep 0.1; done"
		stop     = "bin/dc-admin -c ini/dc-admin.ini --cmd STOP"
		contents = `until [ "$(` + client + `-cmd SITE_STATUS -ff '{"id":"tree"}' | sed -n 's/.*"contents": \([0-9]*\),/\1/p')" -ge %d ]; do sleep 0.1; done`
	)
	pages := func(file string) []string {
		return []string{answers, fmt.Sprintf(contents, n), "bin/hce export tree --config ini/dc-client.ini --fields url,title,text,contentMd5 --out $TOP/" + file}
	}
	commands := slices.Concat(
		[]string{"export TOP=$PWD DC_CrawlerTask_AllowedNetworks=127.0.0.0/8", "bin/dc-daemon -c ini/dc-daemon.ini 2>dc-daemon.log &",
			answers, client + "-cmd SITE_NEW -f site.json", fmt.Sprintf(contents, n/4)},
		page["Back up"][0],
		pages("first.jsonl"), []string{stop, "flock data/dc-daemon.lock true"},

		[]string{"mkdir second", "cp -a bin ini backup second/", "cd second"},
		page["Restore"][0], pages("second.jsonl"),

		page["Upgrade"][0], page["Upgrade"][1], pages("third.jsonl"),
		[]string{client + `-cmd URL_DELETE -ff '{"siteId":"tree","url":"` + w.URL + `/p1.html"}'`}, // by the new version
		page["Upgrade"][2], pages("fourth.jsonl"),

		page["Move to another machine"][0],
		[]string{"mkdir ../third", "cp -a bin moved.tar ../third/", "cd ../third"},
		page["Move to another machine"][1], pages("fifth.jsonl"), []string{stop},
	)
	outputs := tree.run(t, commands)
	checked := 0
	for i, command := range commands {
		if strings.HasSuffix(command, " --check") {
			checked++
			if !strings.Contains(string(outputs[i]), `"faults":0`) {
				t.Errorf("%s: %s", command, outputs[i])
			}
		}
	}
	if checked != 2 {
		t.Errorf("the page has %d commands with --check", checked)
	}
	if refetched := w.count() - n; refetched < 20 {
		t.Errorf("only %d pages were crawled after the backup", refetched)
	}
	first := exportedLines(t, filepath.Join(tree.dir, "first.jsonl"))
	if len(first) != n {
		t.Fatalf("%d pages", len(first))
	}
	for _, name := range []string{"second", "third", "fourth", "fifth"} {
		if got := exportedLines(t, filepath.Join(tree.dir, name+".jsonl")); !slices.Equal(got, first) {
			t.Errorf("%s: %d pages\n%s\nwant\n%s", name, len(got), strings.Join(got, "\n"), strings.Join(first, "\n"))
		}
	}
}

// stopsUntil answers n requests. The others wait until path exists: the end of the backup, which is made
// during the crawl.
func stopsUntil(path string, n int64, h http.Handler) http.Handler {
	var served atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for served.Add(1) > n && r.Context().Err() == nil {
			if _, err := os.Stat(path); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		h.ServeHTTP(w, r)
	})
}

// operationsSections returns the sh blocks of docs/operations.md by their section.
func operationsSections(t *testing.T) map[string][][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][][]string{}
	for part := range strings.SplitSeq(string(text), "\n## ") {
		name, body, _ := strings.Cut(part, "\n")
		sections[name] = shellBlocks(t, body)
	}
	for name, blocks := range map[string]int{"Back up": 1, "Restore": 1, "Upgrade": 3, "Move to another machine": 2} {
		if len(sections[name]) != blocks {
			t.Fatalf("section %q has %d sh blocks, want %d", name, len(sections[name]), blocks)
		}
	}
	return sections
}

// exportedLines returns the lines of an export, sorted.
func exportedLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(strings.Lines(string(text)))
}
