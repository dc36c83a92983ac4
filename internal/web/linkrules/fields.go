package linkrules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/schema"
)

// FieldsInit is the property URLS_FIELDS_INIT: column values for the row of a new URL.
type FieldsInit []fieldInit

type fieldInit struct {
	column     string
	value      any
	conditions []condition // one must hold; empty means always
}

// ParseFieldsInit parses {field: {"value": v, "conditions": [true or "object.field op
// value"]}}. A field has the name of the wire object or of the table; Site_Id, URL and
// URLMd5 cannot be set. The object is site or parent (the page). op is ==, !=, <>, match
// (at the start), search or "is empty". Two numbers compare as numbers, other values as
// text. Source: docs/spec/crawling.md 3.
func ParseFieldsInit(text string) (FieldsInit, error) {
	list, err := parseMembers(text)
	if err != nil {
		return nil, err
	}
	var f FieldsInit
	for _, m := range list {
		var v struct {
			Value      json.RawMessage `json:"value"`
			Conditions prop.Texts      `json:"conditions"`
		}
		if err := parseMember(m.Name, m.Value, &v); err != nil {
			return nil, err
		}
		column, err := settableColumn(m.Name)
		if err != nil {
			return nil, err
		}
		init := fieldInit{column: column.Name}
		if init.value, err = columnValue(column, v.Value); err != nil {
			return nil, err
		}
		if err := checkCount(len(v.Conditions)); err != nil {
			return nil, err
		}
		for _, text := range v.Conditions {
			c, err := parseCondition(text)
			if err != nil {
				return nil, err
			}
			init.conditions = append(init.conditions, c)
		}
		f = append(f, init)
	}
	return f, nil
}

// Patch returns the values for the row of a new URL that was found on page parent of the
// site. It is the same for all links of the page. Values fit their columns.
func (f FieldsInit) Patch(site *wire.Site, parent *wire.URL) schema.Patch {
	p := schema.Patch{}
	if len(f) == 0 {
		return p
	}
	rows := [...]schema.Patch{ofSite: schema.PatchOf(site, wire.SiteColumns), ofParent: schema.PatchOf(parent, wire.URLColumns)}
	for _, field := range f {
		holds := func(c condition) bool { return c.holdsFor(rows[:]) }
		if len(field.conditions) == 0 || slices.ContainsFunc(field.conditions, holds) {
			p[field.column] = field.value
		}
	}
	return p
}

// The row that a condition reads.
const (
	ofSite = iota
	ofParent
)

// condition is one comparison. If op is "", it is the constant always.
type condition struct {
	always bool
	row    int
	column string
	op     string
	value  string
	re     *pyregexp.Regexp
}

// comparison is "object.field op value" or "object.field is empty".
var comparison = regexp.MustCompile(`(?is)^\s*(site|parent)\.(\w+)\s*(?:(is\s+empty)\s*|(==|!=|<>|(?:match|search)\b)\s*(.*?)\s*)$`)

func parseCondition(text string) (condition, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1":
		return condition{always: true}, nil
	case "false", "0":
		return condition{}, nil
	}
	m := comparison.FindStringSubmatch(text)
	if m == nil {
		return condition{}, fmt.Errorf(`has the condition %.80q; expected "site.field op value" or "parent.field op value"`, text)
	}
	c := condition{op: strings.ToLower(m[4]), value: stripQuotes(m[5])}
	columns := wire.SiteColumns
	if strings.EqualFold(m[1], "parent") {
		c.row, columns = ofParent, wire.URLColumns
	}
	column, ok := schema.FindColumn(columns, m[2])
	if !ok {
		return condition{}, fmt.Errorf("has the condition %.80q, whose field is unknown", text)
	}
	c.column = column.Name
	switch c.op {
	case "":
		c.op = "empty"
	case "match", "search":
		re, err := pyregexp.Compile(c.value)
		if err != nil {
			return condition{}, fmt.Errorf("has an invalid expression %.80q: %w", c.value, err)
		}
		c.re = re
	}
	return c, nil
}

func (c *condition) holdsFor(rows []schema.Patch) bool {
	if c.op == "" {
		return c.always
	}
	value := textOf(rows[c.row][c.column])
	switch c.op {
	case "empty":
		return value == ""
	case "match":
		return c.re.MatchStart(value)
	case "search":
		return c.re.MatchString(value)
	case "==":
		return areEqual(value, c.value)
	}
	return !areEqual(value, c.value)
}

func areEqual(a, b string) bool {
	if a == b {
		return true
	}
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(b, 64)
	return err == nil && x == y
}

// textOf returns the value of a column as text, "" for NULL.
func textOf(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// stripQuotes removes the quotes around a value.
func stripQuotes(text string) string {
	if n := len(text); n >= 2 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// settableColumn returns the URL column of that name, if a property may set it.
func settableColumn(name string) (schema.Column, error) {
	c, ok := schema.FindColumn(wire.URLColumns, name)
	if !ok {
		return c, fmt.Errorf("has %.80q, which is not a field of a URL", name)
	}
	switch c.Name {
	case "Site_Id", "URL", "URLMd5":
		return c, fmt.Errorf("has %q, which names the URL and cannot be set", name)
	}
	return c, nil
}

// columnValue parses a value for a column, as in schema.Patch, and makes it fit.
func columnValue(c schema.Column, raw json.RawMessage) (any, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		if c.Kind == schema.KindDate {
			return nil, nil
		}
		return nil, fmt.Errorf("has no value for %s", c.Name)
	}
	switch c.Kind {
	case schema.KindInt:
		n, ok := schema.ReadInt(raw)
		if !ok {
			return nil, fmt.Errorf("has %.80s for %s; expected a whole number", raw, c.Name)
		}
		return c.Fit(n), nil
	case schema.KindFloat:
		f := prop.Float(math.NaN()) // an empty text leaves it unchanged
		if err := f.UnmarshalJSON(raw); err != nil || math.IsNaN(float64(f)) {
			return nil, fmt.Errorf("has %.80s for %s; expected a number", raw, c.Name)
		}
		return c.Fit(float64(f)), nil
	}
	if c.Kind == schema.KindDate && raw[0] == '{' {
		var tagged struct {
			Text json.RawMessage `json:"str"`
		}
		if err := json.Unmarshal(raw, &tagged); err != nil {
			return nil, err
		}
		raw = tagged.Text
	}
	text, err := prop.Text(raw)
	if err != nil {
		return nil, fmt.Errorf("has %.80s for %s; expected a text", raw, c.Name)
	}
	if c.Kind == schema.KindText {
		return c.Fit(text), nil
	}
	return dateValue(c, text)
}

// dateValue parses a date: "" and NULL give nil, a date gives a value, and any other text
// is an expression, which the store checks.
func dateValue(c schema.Column, text string) (any, error) {
	text = stripQuotes(strings.TrimSpace(text))
	if text == "" || strings.EqualFold(text, "NULL") {
		return nil, nil
	}
	for _, layout := range []string{schema.DateLayout, "2006-01-02T15:04:05Z07:00", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			if t = t.UTC(); t.Year() < 1000 || t.Year() > 9999 {
				return nil, fmt.Errorf("has %q for %s; expected a date in the years 1000 to 9999", text, c.Name)
			}
			return string(schema.DateOf(t)), nil
		}
	}
	if c := text[0]; '0' <= c && c <= '9' {
		return nil, fmt.Errorf("has the date %.80q; expected YYYY-MM-DD hh:mm:ss", text)
	}
	if len(text) > maxXPath {
		return nil, fmt.Errorf("has an expression of %d bytes for %s; the limit is %d", len(text), c.Name, maxXPath)
	}
	return schema.Expr(text), nil
}

// ParseRecrawlUpdates parses RECRAWL_URL_UPDATE, the extra values for the reset of a known
// URL that is found again: {urlRegex: {"fields": {Column: value}}}, with the columns of
// ParseFieldsInit. Values fit their columns; dates may be expressions. Source:
// docs/spec/crawling.md 3, 5.7.
func ParseRecrawlUpdates(text string) (ByURL[schema.Patch], error) {
	list, err := parseMembers(text)
	if err != nil {
		return nil, err
	}
	var updates ByURL[schema.Patch]
	for _, m := range list {
		var v struct {
			Fields prop.Members `json:"fields"`
		}
		if err := parseMember(m.Name, m.Value, &v); err != nil {
			return nil, err
		}
		update := schema.Patch{}
		for _, field := range v.Fields {
			column, err := settableColumn(field.Name)
			if err != nil {
				return nil, err
			}
			if update[column.Name], err = columnValue(column, field.Value); err != nil {
				return nil, err
			}
		}
		if err := updates.addRule(m.Name, update); err != nil {
			return nil, err
		}
	}
	return updates, nil
}
