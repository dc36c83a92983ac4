package random_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"hce/dc/internal/wire"
)

// step is a request, and the seconds that the clock moves before it.
type step struct {
	Wait    int             `json:"wait,omitempty"`
	Request json.RawMessage `json:"request"`
}

// op is the name of the operation, also if the request has its code; "no request" for an
// invalid request.
func (s step) op() string {
	var call wire.Call
	if json.Unmarshal(s.Request, &call) != nil {
		return "no request"
	}
	return call.Op.String()
}

// script is a stored sequence; see testdata.
type script struct {
	Note  string `json:"note,omitempty"` // purpose or origin
	Steps []step `json:"steps"`
}

func readScript(path string) (script, error) {
	var s script
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read script %s: %w", path, err)
	}
	return s, nil
}

// text is the script as JSON with one line for each step.
func (s script) text() ([]byte, error) {
	var out bytes.Buffer
	note, err := plainJSON(s.Note)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, "{\n  \"note\": %s,\n  \"steps\": [", note)
	for i, st := range s.Steps {
		line, err := plainJSON(st)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n    %s", line)
	}
	out.WriteString("\n  ]\n}\n")
	return out.Bytes(), nil
}

// keep writes the script to a folder and returns its path.
func (s script) keep(folder, name string) (string, error) {
	text, err := s.text()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, name+".json")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text, 0o644)
}

// plainJSON is JSON on one line without escapes of <, > and &.
func plainJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
