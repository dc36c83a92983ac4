package wire

import "encoding/json"

// CustomRequest is the object of SQL_CUSTOM (docs/spec/objects.md 2.10). Query and DBName are
// echoed as they came.
type CustomRequest struct {
	RID     int64
	Query   json.RawMessage
	Queries []string // of Query; nil when it is no text and no list of texts
	List    bool     // Query is a list
	DBName  string
	Names   bool // rows are objects, not lists
}

// ReadCustom reads the object of SQL_CUSTOM, whose rid, query and dbName are
// mandatory. What else is wrong with query and dbName is for the answer to say
// (docs/spec/storage.md 4.21).
func ReadCustom(raw json.RawMessage, n *Notes) (CustomRequest, error) {
	o := readObject("SQLCustom", raw)
	r := CustomRequest{RID: o.int("rid", 0), Query: o.raw("query"), Names: o.bool("includeFieldsNames", false)}
	if raw := o.raw("dbName"); raw != nil && raw[0] == '"' {
		r.DBName = o.text("dbName", "")
	}
	var text string
	var list []*string
	switch {
	case json.Unmarshal(r.Query, &text) == nil:
		r.Queries = []string{text}
	case json.Unmarshal(r.Query, &list) == nil:
		r.List, r.Queries = true, []string{}
		for _, q := range list {
			if q == nil {
				r.Queries = nil
				break
			}
			r.Queries = append(r.Queries, *q)
		}
	}
	for _, field := range []string{"rid", "query", "dbName"} {
		if !o.has(field) {
			o.fail(field, "is missing")
		}
	}
	return r, o.end(n)
}

// CustomResponse answers SQL_CUSTOM (docs/spec/objects.md 3.7). Result is a list of rows, or
// of such lists for a list of queries; a row is a list of values, or an object.
// It is empty, never nil, when ErrString says what failed.
type CustomResponse struct {
	RID       int64           `json:"rid"`
	Query     json.RawMessage `json:"query"`
	DBName    string          `json:"dbName"`
	Result    []any           `json:"result"`
	ErrString *string         `json:"errString"`
}
