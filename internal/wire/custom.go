package wire

import (
	"encoding/json"
	"slices"

	"hce/dc/internal/wire/lenient"
)

// CustomRequest is the object of SQL_CUSTOM (docs/spec/objects.md 2.10). The answer repeats
// Query and DBName.
type CustomRequest struct {
	RID     int64
	Query   json.RawMessage
	Queries []string // of Query; nil if it is neither a text nor a list of texts
	List    bool     // Query is a list
	DBName  string
	Names   bool // rows are objects, not lists
}

// ReadCustom reads the object of SQL_CUSTOM. rid, query and dbName are mandatory. Other
// errors in query and dbName are part of the answer (docs/spec/storage.md 4.21).
func ReadCustom(raw json.RawMessage, n *lenient.Notes) (CustomRequest, error) {
	return lenient.ReadOne("SQLCustom", raw, n, func(o *lenient.Object) CustomRequest {
		r := CustomRequest{RID: o.ReadInt("rid", 0), Query: o.ReadRaw("query"), Names: o.ReadBool("includeFieldsNames", false)}
		if raw := o.ReadRaw("dbName"); raw != nil && raw[0] == '"' {
			r.DBName = o.ReadText("dbName")
		}
		var text string
		var list []*string
		switch {
		case json.Unmarshal(r.Query, &text) == nil:
			r.Queries = []string{text}
		case json.Unmarshal(r.Query, &list) == nil:
			r.List = true
			if !slices.Contains(list, nil) {
				_ = json.Unmarshal(r.Query, &r.Queries) // a list of texts never fails
			}
		}
		for _, field := range []string{"rid", "query", "dbName"} {
			if !o.HasField(field) {
				o.RefuseField(field, "is missing")
			}
		}
		return r
	})
}

// CustomResponse answers SQL_CUSTOM (docs/spec/objects.md 3.7).
type CustomResponse struct {
	RID    int64           `json:"rid"`
	Query  json.RawMessage `json:"query"`
	DBName string          `json:"dbName"`
	// Result is a list of rows, or a list of such lists for a list of queries. A row is a
	// list of values or an object. After an error it is empty, never nil.
	Result    []any   `json:"result"`
	ErrString *string `json:"errString"` // nil: no error
}
