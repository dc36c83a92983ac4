package errormask

import (
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/testkit/testgolden"
)

// The table of error bits in docs/errors.md is between these lines.
const (
	errorsPage = "../../../docs/errors.md"
	tableBegin = "<!-- bits: go test ./internal/wire/errormask -run ErrorsPage -update -->\n"
	tableEnd   = "<!-- end of bits -->\n"
)

func TestErrorsPageIsUpToDate(t *testing.T) {
	testgolden.Part(t, errorsPage, tableBegin, tableEnd, bitTable())
}

// bitTable returns all error bits as a Markdown table.
func bitTable() string {
	var b strings.Builder
	b.WriteString("\n| bit | value | name | meaning | may pass later |\n|---:|---:|---|---|---|\n")
	for _, e := range Mask(1<<len(table) - 1).Bits() {
		later := ""
		if e.Retryable {
			later = "yes"
		}
		fmt.Fprintf(&b, "| %d | %d | %s | %s | %s |\n", e.Bit, uint64(1)<<e.Bit, e.Name, e.Message, later)
	}
	b.WriteString("\n")
	return b.String()
}
