package wire

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of error bits in docs/errors.md")

// The table of error bits in docs/errors.md is between these lines.
const (
	errorsPage = "../../docs/errors.md"
	tableBegin = "<!-- bits: go test ./internal/wire -run ErrorsPage -update -->\n"
	tableEnd   = "<!-- end of bits -->\n"
)

func TestErrorsPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no lines %q and %q", errorsPage, tableBegin, tableEnd)
	}
	want := before + tableBegin + bitTable() + tableEnd + after
	if *update {
		if err := os.WriteFile(errorsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Errorf("the table of error bits in %s is out of date; run go test ./internal/wire -run ErrorsPage -update", errorsPage)
	}
}

// bitTable returns all error bits as a Markdown table.
func bitTable() string {
	var b strings.Builder
	b.WriteString("\n| bit | value | name | meaning | may pass later |\n|---:|---:|---|---|---|\n")
	for _, e := range ErrorMask(1<<len(errorBits) - 1).Bits() {
		later := ""
		if e.Retryable {
			later = "yes"
		}
		fmt.Fprintf(&b, "| %d | %d | %s | %s | %s |\n", e.Bit, uint64(1)<<e.Bit, e.Name, e.Message, later)
	}
	b.WriteString("\n")
	return b.String()
}
