package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hce/dc/internal/wire"
)

// Modes of combining --fields with --file (docs/spec/objects.md 6.2).
const (
	Replace = 0 // replace top-level values
	Merge   = 1 // merge objects at existing keys, replace lists
	Append  = 2 // merge objects, add new keys, append lists
)

// ErrFile means that a request file cannot be read, ErrJSON that it is not one JSON value.
var (
	ErrFile = errors.New("--file cannot be read")
	ErrJSON = errors.New("is not JSON")
)

// Request builds the object of an operation from a file and from fields, either of which
// may be empty. Without a file, fields override an empty object, inside a list if the
// operation takes a list; missing keys have their defaults.
func Request(op wire.Op, file, fields string, mode int) (json.RawMessage, error) {
	var over map[string]any
	if fields != "" {
		err := decodeJSON([]byte(fields), &over)
		switch {
		case strings.HasPrefix(strings.TrimSpace(fields), "["):
			err = errors.New("it is a list; give lists with --file")
		case err == nil && over == nil:
			err = errors.New("it is null")
		}
		if err != nil {
			return nil, fmt.Errorf("--fields %.200q is not a JSON object: %w", fields, err)
		}
		if err := readFileValues(over); err != nil {
			return nil, err
		}
	}
	var object any = map[string]any{}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFile, err)
		}
		if err := decodeJSON(text, &object); err != nil {
			return nil, fmt.Errorf("--file %s %w: %w", file, ErrJSON, err)
		}
	}
	switch x := object.(type) {
	case map[string]any:
		overrideFields(x, over, mode)
		if op.ListRequest() && file == "" {
			object = []any{x}
		}
	case []any:
		for _, elem := range x {
			if m, ok := elem.(map[string]any); ok {
				overrideFields(m, over, mode)
			}
		}
	}
	return json.Marshal(object)
}

// decodeJSON reads exactly one JSON value and keeps the spelling of numbers.
func decodeJSON(text []byte, into any) error {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(into)
	switch {
	case err == io.EOF:
		return errors.New("it is empty")
	case err != nil:
		return fmt.Errorf("at byte %d: %w", d.InputOffset(), err)
	}
	end := d.InputOffset()
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("at byte %d: more than one value", end)
	}
	return nil
}

// overrideFields puts the fields of over into object. It does not change over, which overrides
// every element of a list.
func overrideFields(object, over map[string]any, mode int) {
	for key, value := range over {
		old := object[key]
		oldMap, isMap := old.(map[string]any)
		newMap, newIsMap := value.(map[string]any)
		oldList, isList := old.([]any)
		newList, newIsList := value.([]any)
		switch {
		case mode == Merge && isMap && newIsMap:
			overrideFields(oldMap, onlyExisting(oldMap, newMap), mode)
		case mode == Append && isMap && newIsMap:
			overrideFields(oldMap, newMap, mode)
		case mode == Append && isList && newIsList:
			object[key] = slices.Concat(oldList, newList)
		default:
			object[key] = value
		}
	}
}

// onlyExisting returns the members of over whose keys object has.
func onlyExisting(object, over map[string]any) map[string]any {
	both := map[string]any{}
	for key, value := range over {
		if _, ok := object[key]; ok {
			both[key] = value
		}
	}
	return both
}

// readFileValues replaces texts that start with file:// by the contents of the file, in
// nested objects too, not in lists (docs/spec/objects.md 6.2).
func readFileValues(m map[string]any) error {
	for key, value := range m {
		switch x := value.(type) {
		case string:
			path, ok := strings.CutPrefix(x, "file://")
			if !ok {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("--fields %s: %w", key, err)
			}
			m[key] = string(text)
		case map[string]any:
			if err := readFileValues(x); err != nil {
				return err
			}
		}
	}
	return nil
}
