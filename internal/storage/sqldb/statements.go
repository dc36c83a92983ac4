package sqldb

import (
	"bufio"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	sqltext "hce/dc/sql"
)

// template is an SQL text with placeholders for tables.
type template struct {
	parts []part
}

// part is literal text, or a table if database is not "".
type part struct {
	text, database string
}

// perSite reports whether the text names a table that exists for each site.
func (t template) perSite() bool {
	return slices.ContainsFunc(t.parts, part.perSite)
}

func (p part) perSite() bool { return p.database != "" && siteTables[p.database] == p.text }

// tablePattern matches {database.table}.
var tablePattern = regexp.MustCompile(`\{(\w+)\.([\w.]+)\}`)

func parseTemplate(text string) template {
	var t template
	for len(text) > 0 {
		m := tablePattern.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		t.parts = append(t.parts, part{text: text[:m[0]]}, part{text: text[m[4]:m[5]], database: text[m[2]:m[3]]})
		text = text[m[1]:]
	}
	t.parts = append(t.parts, part{text: text})
	return t
}

// fill replaces the placeholders. site may be "" if the text names no table of a site.
func (d *DB) fill(t template, site string) string {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.perSite():
			b.WriteString(d.SiteTable(p.database, site))
		case p.database != "":
			b.WriteString(d.Table(p.database, p.text))
		default:
			b.WriteString(strings.ReplaceAll(p.text, "{rowid}", d.RowID()))
		}
	}
	return b.String()
}

// Text returns the named statement of sql/ for the tables of a site. site may be "" if the
// statement names no table of a site.
func (d *DB) Text(name, site string) (string, error) {
	t, ok := d.texts[name]
	switch {
	case !ok:
		return "", fmt.Errorf("unknown statement %q: not in sql/", name)
	case t.filled != "":
		return t.filled, nil
	case site == "":
		return "", fmt.Errorf("statement %q needs a site", name)
	}
	return d.fill(t.template, site), nil
}

// text is a named statement. filled is "" if each site needs its own text.
type text struct {
	template
	filled string
}

func (d *DB) setTexts(templates map[string]template) {
	d.texts = make(map[string]text, len(templates))
	for name, t := range templates {
		x := text{template: t}
		if d.dialect != expr.MySQL || !t.perSite() {
			x.filled = d.fill(t, "")
		}
		d.texts[name] = x
	}
}

var namePattern = regexp.MustCompile(`^-- name: (\w+)\s*$`)

// loadTexts reads the named statements of both databases and of one driver. A statement
// follows the line with its name and ends with a semicolon or at the next name. Comment
// lines after the name describe it.
func loadTexts(driver string) (map[string]template, error) {
	texts := map[string]template{}
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

func addTexts(texts map[string]template, file, raw string) error {
	var name string
	var body strings.Builder
	finish := func() error {
		text := strings.TrimSuffix(strings.TrimSpace(body.String()), ";")
		body.Reset()
		if name == "" {
			if text != "" {
				return fmt.Errorf("%s: text before the first statement name", file)
			}
			return nil
		}
		if _, twice := texts[name]; twice {
			return fmt.Errorf("%s: statement %s is defined twice", file, name)
		}
		if text == "" || strings.Contains(text, ";") {
			return fmt.Errorf("%s: %s is not one statement", file, name)
		}
		texts[name] = parseTemplate(text)
		return nil
	}
	lines := bufio.NewScanner(strings.NewReader(raw))
	for lines.Scan() {
		line := lines.Text()
		if m := namePattern.FindStringSubmatch(line); m != nil {
			if err := finish(); err != nil {
				return err
			}
			name = m[1]
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			body.WriteString(line + "\n")
		}
	}
	return finish()
}
