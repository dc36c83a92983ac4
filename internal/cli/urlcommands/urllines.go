package urlcommands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/referrers"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

// urlLines are rows of a list that are not printed yet.
type urlLines struct {
	*subcommand.Session
	ls   urlLs
	site string
	rows []wire.URL

	parents bool // the page that linked first was printed
}

// urlsAtOnce is the number of rows that are printed together.
const urlsAtOnce = 100

// addRow prints the rows if they are enough. All referrers are read at once.
func (l *urlLines) addRow(row wire.URL) error {
	if l.rows = append(l.rows, row); len(l.rows) < urlsAtOnce || l.ls.referrers {
		return nil
	}
	return l.printRows()
}

func (l *urlLines) printRows() (err error) {
	var parents map[string]string
	var found map[string][]referrers.Referrer
	why := make([][]string, len(l.rows))
	switch {
	case len(l.rows) == 0:
		return nil
	case l.ls.referrers:
		found, err = referrersOf(l.Session, l.site, l.rows)
	case l.ls.failed && !l.JSON:
		parents, err = parentsOf(l.Session, l.site, l.rows)
	}
	if err == nil && l.ls.reasons {
		asked := make([]string, len(l.rows))
		for i := range l.rows {
			asked[i] = fmt.Sprint(l.rows[i].Depth, " ", l.rows[i].URL)
		}
		why, err = reasonsOf(l.Session, l.site, asked)
	}
	if err != nil {
		return err
	}
	for i := range l.rows {
		if err := l.printRow(&l.rows[i], parents, found, why[i]); err != nil {
			return err
		}
	}
	l.rows = l.rows[:0]
	return nil
}

func (l *urlLines) printRow(row *wire.URL, parents map[string]string, found map[string][]referrers.Referrer, why []string) error {
	if l.JSON {
		return l.rowJSON(row, found, why)
	}
	if err := urlLine(l.Session, *row); err != nil {
		return err
	}
	if parent := parents[row.ParentMd5]; parent != "" {
		l.parents = true
		l.PrintNamed("linked by", "%s", plaintext.Clean(parent))
	}
	for _, r := range found[row.URLMd5] {
		showReferrer(l.Session, r)
	}
	showReasons(l.Session, why)
	return nil
}

// rowJSON prints a row as an object, with referrers the whole row.
func (l *urlLines) rowJSON(row *wire.URL, found map[string][]referrers.Referrer, why []string) error {
	var object any = row
	members := map[string]any{}
	if l.ls.reasons {
		members["reasons"] = why
	}
	if l.ls.referrers {
		members["referrers"] = found[row.URLMd5]
	} else {
		fields, err := export.Object(&pages.Page{URL: *row}, export.URLFields)
		if err != nil {
			return err
		}
		if object = json.RawMessage(fields); !l.ls.reasons {
			_, err := fmt.Fprintln(l.Out, string(fields))
			return err
		}
	}
	all, err := withMembers(object, members)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(all)
	if err == nil {
		_, err = fmt.Fprintln(l.Out, string(raw))
	}
	return err
}

// parentsOf returns the URLs of the pages that linked first to rows, by key.
func parentsOf(s *subcommand.Session, site string, rows []wire.URL) (map[string]string, error) {
	var keys []string
	for i := range rows {
		keys = append(keys, "'"+rows[i].ParentMd5+"'")
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	found, err := pages.Rows(s.Ctx, s.Service, site, "`URLMd5` IN ("+strings.Join(keys, ",")+")", "", len(keys))
	urls := map[string]string{}
	for _, row := range found {
		urls[row.URLMd5] = row.URL
	}
	return urls, err
}

func urlLine(s *subcommand.Session, row wire.URL) error {
	text := row.URL
	if row.Resource() {
		text += "  resource " + row.ContentType
	}
	if row.Redirects != "" {
		text += fmt.Sprintf("  %d -> %s", row.FirstCode(), row.FinalURL())
	}
	if names := row.ErrorMask.Names(); len(names) > 0 {
		text += "  " + strings.Join(names, " ")
	}
	if retry := causes.RetryText(row); retry != "" {
		text += "  (" + retry + ")"
	}
	_, err := fmt.Fprintf(s.Out, "%-10s %4d %9s  %s\n", export.StatusName(row.Status), row.AnsweredCode(), files.Bytes(row.Size), plaintext.Clean(text))
	return err
}
