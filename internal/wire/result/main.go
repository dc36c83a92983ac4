package result

import "encoding/json"

// Main returns the part of a stored content that clients get by default: the first custom text,
// or the default result as {"default":…}. It returns false for a value of another shape.
func Main(stored []byte) ([]byte, bool) {
	var value struct {
		Default json.RawMessage `json:"default"`
		Custom  []string        `json:"custom"`
	}
	if json.Unmarshal(plainJSON(stored), &value) != nil {
		return nil, false
	}
	if len(value.Custom) > 0 {
		return []byte(value.Custom[0]), true
	}
	text, err := json.Marshal(map[string]json.RawMessage{"default": value.Default})
	return text, err == nil && value.Default != nil
}
