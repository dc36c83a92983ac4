package command

import (
	"encoding/json"
	"io"
)

// PrintJSON writes a value for a machine, indented, with < and & as they are.
func PrintJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
