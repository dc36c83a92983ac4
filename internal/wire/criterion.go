package wire

import (
	"encoding/json"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// Criterion selects rows of a table. Its parts are unchecked SQL of a client in the MySQL
// dialect (docs/spec/objects.md 0, docs/spec/storage.md 5). An empty part is absent.
type Criterion struct {
	Where   string
	OrderBy string
	Limit   string            // "10" or "offset, count"
	Tables  string            // SITE_FIND only
	SQL     map[string]string // query by name; urlsCriterions of URL_FETCH only
	Given   bool              // the request has the object, even if empty
}

// Empty reports whether c has no clause.
func (c Criterion) Empty() bool {
	return c.Where == "" && c.OrderBy == "" && c.Limit == ""
}

// MarshalJSON writes the form of requests, without empty parts.
func (c Criterion) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	for key, text := range map[string]string{"WHERE": c.Where, "ORDER BY": c.OrderBy, "LIMIT": c.Limit, "TABLES": c.Tables} {
		if text != "" {
			m[key] = text
		}
	}
	if len(c.SQL) > 0 {
		m["SQL"] = c.SQL
	}
	return json.Marshal(m)
}

// readCriterion reads a criterions object. def applies to an absent or null object and to
// absent keys.
func readCriterion(o *lenient.Object, field string, def Criterion) Criterion {
	if !o.HasField(field) {
		return def
	}
	c, in := def, o.ReadChild(field)
	c.Given = true
	for key, part := range map[string]*string{"WHERE": &c.Where, "ORDER BY": &c.OrderBy, "TABLES": &c.Tables} {
		if _, ok := in.Fields[key]; ok {
			*part = in.ReadText(key)
		}
	}
	if raw, ok := in.Fields["LIMIT"]; ok {
		c.Limit = readLimit(in, raw)
	}
	if in.HasField("SQL") {
		c.SQL = readQueries(in)
	}
	in.AcceptUnused("WHERE", "ORDER BY", "TABLES", "LIMIT")
	in.NoteUnused()
	return c
}

// readQueries reads an object of queries by name. It skips null.
func readQueries(o *lenient.Object) map[string]string {
	var raw map[string]json.RawMessage
	ok := json.Unmarshal(o.Fields["SQL"], &raw) == nil
	queries := make(map[string]string, len(raw))
	for name, query := range raw {
		if len(query) == 0 || query[0] != '"' {
			ok = ok && schema.IsNull(query)
			continue
		}
		text, good := schema.ReadText(query)
		queries[name], ok = text, ok && good
	}
	if !ok {
		o.RefuseField("SQL", "is not an object of texts")
	}
	return queries
}

// readLimit accepts a number, a text or [offset, count].
func readLimit(o *lenient.Object, raw json.RawMessage) string {
	if !o.HasField("LIMIT") {
		return ""
	}
	if raw[0] != '[' {
		return o.ReadText("LIMIT")
	}
	var pair []json.RawMessage
	if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 && !schema.IsNull(pair[0]) && !schema.IsNull(pair[1]) {
		offset, ok1 := schema.ReadText(pair[0])
		count, ok2 := schema.ReadText(pair[1])
		if ok1 && ok2 {
			return offset + ", " + count
		}
	}
	o.RefuseField("LIMIT", "is not a number, a text or [offset, count]")
	return ""
}
