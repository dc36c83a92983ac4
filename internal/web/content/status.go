package content

import (
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// Statuses is the property HTTP_CODE_STATUS_UPDATE: by HTTP code, the Status of a URL after
// its crawl.
type Statuses map[int]int64

// ParseStatuses parses {"code": status}. A code has three digits; a status is one of those
// in which a row can rest or be selected again.
func ParseStatuses(text string) (Statuses, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return nil, err
	}
	statuses := make(Statuses)
	for _, m := range members {
		code, err := strconv.Atoi(strings.TrimSpace(m.Name))
		if err != nil || code < 100 || code > 999 {
			return nil, fmt.Errorf("has the name %.80q; expected an HTTP code", m.Name)
		}
		status := prop.Int(-1)
		if err := status.UnmarshalJSON(m.Value); err != nil {
			return nil, fmt.Errorf("at %.80q: %w", m.Name, err)
		}
		if status < wire.StatusUndefined || status > wire.StatusSelectedIncremental {
			return nil, fmt.Errorf("has %.80s at %q; expected a status from %d to %d",
				m.Value, m.Name, wire.StatusUndefined, wire.StatusSelectedIncremental)
		}
		statuses[code] = int64(status)
	}
	return statuses, nil
}
