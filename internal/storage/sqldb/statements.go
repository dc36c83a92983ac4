package sqldb

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	sqltext "hce/dc/sql"
)

// tablePattern matches {database.table}.
var tablePattern = regexp.MustCompile(`\{(\w+)\.([\w.]+)\}`)

// perSite reports whether a text names a table that exists for each site.
func perSite(text string) bool {
	return slices.ContainsFunc(tablePattern.FindAllStringSubmatch(text, -1), func(m []string) bool { return siteTables[m[1]] == m[2] })
}

// fillNames replaces {database.table} and {rowid}. site may be "" if the text names no table of
// a site.
func (d *DB) fillNames(text, site string) string {
	text = tablePattern.ReplaceAllStringFunc(text, func(name string) string {
		database, table, _ := strings.Cut(strings.Trim(name, "{}"), ".")
		if siteTables[database] == table {
			return d.SiteTable(database, site)
		}
		return d.Table(database, table)
	})
	return strings.ReplaceAll(text, "{rowid}", d.RowID())
}

// Text returns the named statement of sql/ for the tables of a site. site may be "" if the
// statement names no table of a site.
func (d *DB) Text(name, site string) (string, error) {
	t, ok := d.texts[name]
	switch {
	case !ok:
		return "", fmt.Errorf("unknown statement %q: not in sql/", name)
	case !t.perSite:
		return t.text, nil
	case site == "":
		return "", fmt.Errorf("statement %q needs a site", name)
	}
	return d.fillNames(t.text, site), nil
}

// statement is a named statement. Its text is filled unless each site needs its own.
type statement struct {
	text    string
	perSite bool
}

func (d *DB) setTexts(texts map[string]string) {
	d.texts = make(map[string]statement, len(texts))
	for name, text := range texts {
		s := statement{text: text, perSite: d.dialect == expr.MySQL && perSite(text)}
		if !s.perSite {
			s.text = d.fillNames(text, "")
		}
		d.texts[name] = s
	}
}

// loadTexts reads the named statements of both databases and of one driver. A statement
// follows the line with its name and ends with a semicolon or at the next name. Comment
// lines after the name describe it.
func loadTexts(driver string) (map[string]string, error) {
	texts := map[string]string{}
	for _, folder := range []string{"both", driver} {
		files, err := fs.Glob(sqltext.FS, folder+"/*.sql")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			raw, err := sqltext.FS.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if err := addTexts(texts, file, string(raw)); err != nil {
				return nil, err
			}
		}
	}
	return texts, nil
}

var commentLine = regexp.MustCompile(`(?m)^[ \t]*--.*\n?`)

func addTexts(texts map[string]string, file, raw string) error {
	for i, part := range strings.Split("\n"+raw, "\n-- name: ") {
		name, body, _ := strings.Cut(part, "\n")
		name = strings.TrimSpace(name)
		text := strings.TrimSuffix(strings.TrimSpace(commentLine.ReplaceAllString(body, "")), ";")
		_, twice := texts[name]
		switch {
		case i == 0 && text == "":
		case i == 0:
			return fmt.Errorf("%s: text before the first statement name", file)
		case twice:
			return fmt.Errorf("%s: statement %s is defined twice", file, name)
		case text == "" || strings.Contains(text, ";"):
			return fmt.Errorf("%s: %s is not one statement", file, name)
		default:
			texts[name] = text
		}
	}
	return nil
}
