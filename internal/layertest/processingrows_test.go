package layertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// notApplicable are rows of docs/spec/processing.md that no test can show, each with its reason.
var notApplicable = map[string]string{
	"1.5 SOCIAL_RATE":                       "out of scope of the specification",
	"1.5 TIMEZONE":                          "loaded by the original, never used",
	"1.5 TEXT_STATS":                        "loaded by the original, never used",
	"1.5 HTTP_HEADERS":                      "its User-Agent was for fetches of extractors; extractors fetch nothing",
	"1.5 SCRAPER_DOWNLOAD_IMAGES":           "extractors fetch nothing",
	"1.5 IMAGE_RATION":                      "extractors fetch nothing",
	"1.5 EXTRACTOR_USER_AGENT":              "extractors fetch nothing",
	"1.5 EXTRACTOR_NEWSPAPER_MAX_EXECUTION": "max_item_time limits a page, whatever extractor runs",
	"1.5 parentMd5":                         "filled by the original for itself",
	"1.5 rank":                              "no effect in the original",
	"1.5 html5":                             "no effect in the original",
	"1.8 #1":                                "a stage of the crawler",
	"1.8 #3":                                "a stage of the crawler",
	"1.8 #4":                                "defined, never applied",
	"1.8 #6":                                "a stage of the crawler",
	"1.8 #8":                                "a stage of the crawler",
	"2.4 #1":                                "a source of the crawler",
	"2.4 #4":                                "a source of the crawler",
	"2.4 #8":                                "a source of the crawler",
	"3.1 is_filled":                         "unused in the original",
	"5.1":                                   "a list of libraries: docs/dependencies.md",
	"5.2":                                   "published results of other programs",
	"6.2 #1":                                "the rule file of the original is not used",
	"6.2 #7":                                "extractors fetch nothing",
	"6.2 #24":                               "the rules and attributes of the original's extractors are not used",
	"6.2 #30":                               "a decision about the design: docs/decisions/0013",
	"6.2 #31":                               "extractors fetch nothing",
}

var (
	aSection = regexp.MustCompile(`(?m)^#+ (?:(\d\.\d+) )?.*$`)
	aNumber  = regexp.MustCompile(`^\d+$`)
	aName    = regexp.MustCompile("`(\\w+)`")
	aStep    = regexp.MustCompile(`^(\d+)\. `)
	aCite    = regexp.MustCompile(`(\d\.\d+)\b|#(\d+)|(\w+)`)
	aCase    = regexp.MustCompile(`"(\d\.\d+ [^"]*)"`)
)

// withNames are the sections whose tables have names as keys of their rows.
var withNames = []string{"1.4", "1.5", "2.7", "3.1", "3.2"}

// rowsOfProcessing returns the rows of docs/spec/processing.md: "1.2 #7" for a numbered row of a table or
// a list, "1.5 CONTENT_HASH" for a named one, "2.9" for a section without such rows.
func rowsOfProcessing(t *testing.T) (rows []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "docs/spec/processing.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	heads := aSection.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		if h[2] < 0 {
			continue
		}
		section, end := text[h[2]:h[3]], len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		before := len(rows)
		for line := range strings.Lines(text[h[1]:end]) {
			if step := aStep.FindStringSubmatch(line); step != nil {
				rows = append(rows, section+" #"+step[1])
			}
			if cells := strings.Split(line, "|"); len(cells) > 2 && cells[0] == "" {
				rows = append(rows, rowsOfCells(section, cells[1:])...)
			}
		}
		if len(rows) == before {
			rows = append(rows, section)
		}
	}
	return rows
}

// rowsOfCells returns the rows of one line of a table. The tables of bits have several in a line.
func rowsOfCells(section string, cells []string) (rows []string) {
	bits := section == "1.9" || section == "2.6"
	for i, cell := range cells {
		for number := range strings.SplitSeq(cell, "/") {
			if number = strings.TrimSpace(number); aNumber.MatchString(number) && (i == 0 || bits) {
				rows = append(rows, section+" #"+number)
			}
		}
	}
	if slices.Contains(withNames, section) {
		for _, name := range aName.FindAllStringSubmatch(cells[0], -1) {
			rows = append(rows, section+" "+name[1])
		}
	}
	return rows
}

// cited adds the rows that a text names after the name of the page: "1.2 #5 to #7, 1.5 CONTENT_HASH".
func cited(rows map[string]bool, text string) {
	section, last, upTo := "", -1, false
	for _, m := range aCite.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			section, last = m[1], -1
			rows[section] = true
		case section == "":
			return
		case m[2] != "":
			n, _ := strconv.Atoi(m[2])
			for upTo && last >= 0 && last < n {
				rows[section+" #"+strconv.Itoa(last)] = true
				last++
			}
			rows[section+" #"+m[2]], last = true, n
		default:
			rows[section+" "+m[3]] = true
		}
		upTo = m[3] == "to"
	}
}

// Each row of docs/spec/processing.md is named by a test: in a comment behind the name of the page, by
// a case of a test of internal/process, or as "rule" of a golden answer.
func TestRowsOfProcessingHaveTests(t *testing.T) {
	named := map[string]bool{}
	comment := regexp.MustCompile(`docs/spec/processing\.md ((?:[^.]|\.\d)*)`)
	for _, file := range testFiles(t) {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") {
			var answer struct{ Rule string }
			if err := json.Unmarshal(b, &answer); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			cited(named, answer.Rule)
			continue
		}
		found := comment.FindAllStringSubmatch(strings.ReplaceAll(goComment.ReplaceAllString(string(b), ""), "\n", " "), -1)
		for _, m := range found {
			cited(named, m[1])
		}
		if strings.HasPrefix(file, "internal/process/") {
			for _, m := range aCase.FindAllStringSubmatch(string(b), -1) {
				cited(named, m[1])
			}
		}
	}
	rows := rowsOfProcessing(t)
	if len(rows) < 200 {
		t.Fatalf("only %d rows were found", len(rows))
	}
	for _, row := range rows {
		reason, excepted := notApplicable[row]
		if named[row] && excepted {
			t.Errorf("docs/spec/processing.md %s has a test, so it must not be in notApplicable (%s)", row, reason)
		}
		if !named[row] && !excepted {
			t.Errorf("no test names docs/spec/processing.md %s: write one, or name the row where a test shows it", row)
		}
	}
	for row := range notApplicable {
		if !slices.Contains(rows, row) {
			t.Errorf("docs/spec/processing.md has no row %s, which is in notApplicable", row)
		}
	}
}

// testFiles lists the tests and the golden answers of processing.
func testFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{
		"cmd/*/*_test.go", "e2e/*_test.go", "internal/*/*_test.go", "internal/*/*/*_test.go", "internal/process/scraper/testdata/*.json",
	} {
		list, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(list) == 0 {
			t.Fatalf("no file is named %s: %v", pattern, err)
		}
		for _, name := range list {
			if rel, err := filepath.Rel(root, name); err == nil && !strings.HasPrefix(rel, "internal/layertest/") {
				files = append(files, rel)
			}
		}
	}
	return files
}
