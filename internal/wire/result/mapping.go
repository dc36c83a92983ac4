package result

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire/prop"
)

// mostMapping bounds the names of TAGS_MAPPING.
const mostMapping = 1000

// ParseMapping parses TAGS_MAPPING, {"tag": mask value}, for Mask. The error names the tag
// and its value.
func ParseMapping(text string) (map[string]int64, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return nil, err
	}
	if len(members) > mostMapping {
		return nil, fmt.Errorf("has %d tags; expected at most %d", len(members), mostMapping)
	}
	mapping := make(map[string]int64, len(members))
	for _, m := range members {
		n := prop.Int(-1)
		if err := json.Unmarshal(m.Value, &n); err != nil || n < 0 {
			return nil, fmt.Errorf("has %q with %s; expected a number of at least 0", prop.Clip(m.Name), prop.Clip(string(m.Value)))
		}
		mapping[m.Name] = int64(n)
	}
	return mapping, nil
}
