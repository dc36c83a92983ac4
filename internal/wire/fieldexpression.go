package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/schema"
)

// The properties that ReadFieldExpressions reads.
const (
	CrawlerExpressions   = "SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER"
	ProcessorExpressions = "SQL_EXPRESSION_FIELDS_UPDATE_PROCESSOR"
)

// FieldExpression sets a column of a crawled URL or of its site to the value of an SQL
// expression. Macros are the fields of that object in upper case, such as %URLMD5%.
// Source: docs/spec/crawling.md 3, 2.6 #43.
type FieldExpression struct {
	Object string // ObjectURL or ObjectSite
	Column string // name in SQL
	SQL    string // unchecked
	Cast   int    // CastInt, CastText or CastDate
}

// Objects and casts of a FieldExpression.
const (
	ObjectURL  = "URL"
	ObjectSite = "Site"

	CastInt  = 0
	CastText = 1
	CastDate = 2
)

// mostExpressions is the most expressions of one property.
const mostExpressions = 100

// ReadFieldExpressions reads a list of {"URL" or "Site": {column: {expression: cast}}}, or
// one such object. Columns may have their name in SQL or in JSON. The result holds the
// valid entries; the error names the invalid ones.
func ReadFieldExpressions(text string) ([]FieldExpression, error) {
	var raw json.RawMessage
	if err := prop.Decode(text, &raw); err != nil {
		return nil, err
	}
	var list []prop.Members
	if bytes.HasPrefix(raw, []byte("[")) {
		if err := prop.Decode(text, &list); err != nil {
			return nil, err
		}
	} else {
		list = make([]prop.Members, 1)
		if err := prop.Decode(text, &list[0]); err != nil {
			return nil, err
		}
	}
	var all []FieldExpression
	var errs []error
	for _, objects := range list {
		for _, o := range objects {
			found, err := readObjectExpressions(o)
			all = append(all, found...)
			errs = append(errs, err...)
			if len(all) > mostExpressions {
				return all[:mostExpressions], fmt.Errorf("has more than %d expressions; the others are ignored", mostExpressions)
			}
		}
	}
	return all, oneLine(errs)
}

// oneLine joins the first errors in one line. It returns nil if errs is empty.
func oneLine(errs []error) error {
	const most = 5
	var texts []string
	for i, err := range errs {
		if i == most {
			texts = append(texts, "and more")
			break
		}
		texts = append(texts, err.Error())
	}
	if texts == nil {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

func readObjectExpressions(o prop.Member) (all []FieldExpression, errs []error) {
	object, columns := ObjectURL, URLColumns
	switch {
	case strings.EqualFold(o.Name, ObjectSite):
		object, columns = ObjectSite, SiteColumns
	case !strings.EqualFold(o.Name, ObjectURL):
		return nil, []error{fmt.Errorf(`has %q; expected "URL" or "Site"`, lenient.ClipText([]byte(o.Name)))}
	}
	var fields prop.Members
	if err := prop.Decode(string(o.Value), &fields); err != nil {
		return nil, []error{fmt.Errorf("at %q: %w", object, err)}
	}
	for _, field := range fields {
		named, ok := schema.FindColumn(columns, field.Name)
		column := named.Name
		if !ok {
			errs = append(errs, fmt.Errorf("has %q at %q, which is not a column", lenient.ClipText([]byte(field.Name)), object))
			continue
		}
		var texts prop.Members
		if err := prop.Decode(string(field.Value), &texts); err != nil {
			errs = append(errs, fmt.Errorf("at %q of %q: %w", column, object, err))
			continue
		}
		for _, text := range texts {
			var cast prop.Int
			if err := prop.Decode(string(text.Value), &cast); err != nil || cast < CastInt || cast > CastDate {
				errs = append(errs, fmt.Errorf("has %s at %q of %q; expected 0, 1 or 2", lenient.ClipText(text.Value), column, object))
				continue
			}
			all = append(all, FieldExpression{Object: object, Column: column, SQL: text.Name, Cast: int(cast)})
		}
	}
	return all, errs
}

// FieldMacros replaces %FIELD%, with or without quotes around it, by the value of the row as
// an SQL literal in the MySQL dialect. FIELD is the name in JSON, in upper case. row points to the
// struct of the columns.
func FieldMacros(row any, columns []schema.Column) *strings.Replacer {
	values := schema.PatchOf(row, columns)
	var quoted, bare []string
	for _, c := range columns {
		literal := "NULL"
		switch x := values[c.Name].(type) {
		case string:
			literal = QuotedSQL(x)
		case int64:
			literal = "(" + strconv.FormatInt(x, 10) + ")"
		case float64:
			literal = "(" + strconv.FormatFloat(x, 'f', -1, 64) + ")"
		}
		name := "%" + strings.ToUpper(c.JSON) + "%"
		quoted = append(quoted, "'"+name+"'", literal, `"`+name+`"`, literal)
		bare = append(bare, name, literal)
	}
	return strings.NewReplacer(append(quoted, bare...)...)
}

// DateMacro replaces %PDATE%, with or without quotes around it, by an SQL literal.
func DateMacro(expression, literal string) string {
	return strings.NewReplacer("'%PDATE%'", literal, `"%PDATE%"`, literal, "%PDATE%", literal).Replace(expression)
}

// QuotedSQL returns a text as a MySQL string literal.
func QuotedSQL(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}
