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

// Ways of laying --fields over --file (docs/spec/objects.md 6.2).
const (
	Replace = 0 // a top-level value is replaced
	Merge   = 1 // objects are merged for keys that exist, lists replaced
	Append  = 2 // objects are merged, new keys added, lists appended
)

// ErrFile and ErrJSON tell the two ways in which a request file fails.
var (
	ErrFile = errors.New("[--file] wrong filename")
	ErrJSON = errors.New("Wrong JSON format")
)

// Request makes the object of an operation from a file and from fields; either
// may be missing, as "". Fields alone start from an empty object, whose missing
// keys take their defaults, in a list where the operation wants one.
func Request(op wire.Op, file, fields string, mode int) (json.RawMessage, error) {
	var over map[string]any
	if fields != "" {
		err := decode([]byte(fields), &over)
		if err == nil && over == nil {
			err = errors.New("it is null")
		}
		if err != nil {
			return nil, fmt.Errorf("DCC exception msg=--fields is not a JSON object: %w", err)
		}
		if err := withFiles(over); err != nil {
			return nil, err
		}
	}
	var object any = map[string]any{}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFile, err)
		}
		if err := decode(text, &object); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrJSON, file, err)
		}
	}
	switch x := object.(type) {
	case map[string]any:
		lay(x, over, mode)
		if op.ListRequest() && file == "" {
			object = []any{x}
		}
	case []any:
		for _, elem := range x {
			if m, ok := elem.(map[string]any); ok {
				lay(m, over, mode)
			}
		}
	}
	return json.Marshal(object)
}

// decode reads one JSON value and keeps numbers as they are written.
func decode(text []byte, into any) error {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("at byte %d: %w", d.InputOffset(), err)
	}
	end := d.InputOffset()
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("at byte %d: more than one value", end)
	}
	return nil
}

// lay puts the fields of over into object. It changes nothing of over, which is
// laid over every element of a list.
func lay(object, over map[string]any, mode int) {
	for key, value := range over {
		old := object[key]
		oldMap, isMap := old.(map[string]any)
		newMap, newIsMap := value.(map[string]any)
		oldList, isList := old.([]any)
		newList, newIsList := value.([]any)
		switch {
		case mode == Merge && isMap && newIsMap:
			lay(oldMap, known(oldMap, newMap), mode)
		case mode == Append && isMap && newIsMap:
			lay(oldMap, newMap, mode)
		case mode == Append && isList && newIsList:
			object[key] = slices.Concat(oldList, newList)
		default:
			object[key] = value
		}
	}
}

// known is what over has of the keys of object.
func known(object, over map[string]any) map[string]any {
	both := map[string]any{}
	for key, value := range over {
		if _, ok := object[key]; ok {
			both[key] = value
		}
	}
	return both
}

// withFiles replaces texts that start with file:// by the files' contents, in
// nested objects too, not in lists (docs/spec/objects.md 6.2).
func withFiles(m map[string]any) error {
	for key, value := range m {
		switch x := value.(type) {
		case string:
			path, ok := strings.CutPrefix(x, "file://")
			if !ok {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("DCC exception msg=--fields %s: %w", key, err)
			}
			m[key] = string(text)
		case map[string]any:
			if err := withFiles(x); err != nil {
				return err
			}
		}
	}
	return nil
}
