// Package plaintext formats texts for a person at a terminal: tables, lines without control characters, and numbers with
// their nouns.
//
//	t := plaintext.Table{Head: []string{"SITE", " PAGES"}}
//	t.AddRow(site.ID, "12")
//	t.Print(os.Stdout)
package plaintext
