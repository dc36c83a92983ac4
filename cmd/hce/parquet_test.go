package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/web/dates"
	"hce/dc/internal/wire/errormask"
)

// modules is where scripts/setup.sh puts the JavaScript packages.
const modules = "../../.cache/node_modules"

// readParquet returns the rows of a file as JSON lines, as another library reads them.
func readParquet(t *testing.T, path string) string {
	t.Helper()
	folder, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "hyparquet")); err != nil {
		t.Fatalf("%v; run scripts/setup.sh test", err)
	}
	stdout, stderr, status := clitest.Output(t, exec.CommandContext(t.Context(), "node", "testdata/parquet.mjs", folder, path))
	if status != 0 {
		t.Fatalf("exit status %d, %s", status, stderr)
	}
	return stdout
}

// The rows of a Parquet export, read with another library, are those of a jsonl export: with all
// fields, in their order, of processed and failed pages.
func TestParquetHasTheRowsOfJSONL(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	stores.AddPages(site, root, 300)
	stores.AddPage(site, root+"odd", "\x1b[31m \"quoted\" <b> \u2028 müde 東京 \U0001F600", strings.Repeat("a long text ", 30000))
	stores.AddPage(site, root+"empty", "", "")
	for i := range 5 {
		stores.AddFailed(site, fmt.Sprint(root, "gone", i), 404, errormask.HTTP|errormask.Mask(1<<i))
	}
	fields := append([]string{"urlMd5", "url"}, without(export.FieldNames(), "urlMd5", "url")...)
	for name, args := range map[string][]string{
		"all fields":      {"--all", "--fields", strings.Join(fields, ",")},
		"default":         nil,
		"text is markup":  {"--markdown"},
		"no page matches": {"--where", "Depth > 9"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, format := range []string{"jsonl", "parquet"} {
				command := append([]string{"export", site, "--server", "127.0.0.1:" + stores.Port, "--format", format, "--out", "pages." + format}, args...)
				if _, stderr, status := clitest.Run(t, folder, command...); status != 0 {
					t.Fatalf("exit status %d, %s", status, stderr)
				}
			}
			want := document(t, filepath.Join(folder, "pages.jsonl"))
			compareLines(t, readParquet(t, filepath.Join(folder, "pages.parquet")), want)
		})
	}
}

func without(list []string, names ...string) (rest []string) {
	for _, entry := range list {
		if entry != names[0] && entry != names[1] {
			rest = append(rest, entry)
		}
	}
	return rest
}

// compareLines compares JSON objects: their keys in order, and their values.
func compareLines(t *testing.T, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%d rows, want %d", len(gotLines)-1, len(wantLines)-1)
	}
	for i := range wantLines[:len(wantLines)-1] {
		gotKeys, gotObject := object(t, gotLines[i])
		wantKeys, wantObject := object(t, wantLines[i])
		if _, both := wantObject["dateText"]; !both { // a column of Parquet by default, as its column date has no zone
			delete(gotObject, "dateText")
			gotKeys = slices.DeleteFunc(gotKeys, func(key string) bool { return key == "dateText" })
		}
		for _, name := range []string{"date", "modified"} { // Parquet has the time in UTC, dateText has it as the page states it
			if v, ok := dates.ParseISO(fmt.Sprint(wantObject[name])); ok {
				wantObject[name] = v.UTC().Format(time.RFC3339)
			}
		}
		if !reflect.DeepEqual(gotKeys, wantKeys) || !reflect.DeepEqual(gotObject, wantObject) {
			t.Fatalf("row %d: %.2000s\nwant %.2000s", i, gotLines[i], wantLines[i])
		}
	}
}

// object reads a JSON object, with the order of its keys.
func object(t *testing.T, line string) (keys []string, values map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	values = map[string]any{}
	_, err := d.Token()
	for err == nil && d.More() {
		var key json.Token
		var value any
		key, err = d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		keys = append(keys, fmt.Sprint(key))
		values[fmt.Sprint(key)] = value
	}
	if err != nil {
		t.Fatalf("%.200s: %v", line, err)
	}
	return keys, values
}
