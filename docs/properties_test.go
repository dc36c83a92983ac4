package docs_test

import (
	"slices"
	"testing"

	"hce/dc/docs"
)

// Each property has one row, whose cells are complete.
func TestRowsOfProperties(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range docs.ListProperties() {
		for _, name := range p.Names {
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
		}
		if p.Section == docs.UnreadSection {
			if p.Readers != nil {
				t.Errorf("%q: nothing reads it, and the page has readers %q", p.Names, p.Readers)
			}
			continue
		}
		if len(p.Readers) == 0 || p.Form == "" || p.Default == "" || p.Effect == "" || len(p.Examples()) == 0 {
			t.Errorf("the row of %q lacks a cell, or has too many", p.Names)
		}
		for _, reader := range p.Readers {
			if !slices.Contains(docs.ReaderNames, reader) {
				t.Errorf("%q is read by %q, which is not one of %q", p.Names, reader, docs.ReaderNames)
			}
		}
	}
	if len(seen) < 120 {
		t.Errorf("only %d properties have a row", len(seen))
	}
}
