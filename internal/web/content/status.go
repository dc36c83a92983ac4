package content

import (
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// Statuses is what HTTP_CODE_STATUS_UPDATE makes the Status of a URL after its
// crawl, by HTTP code.
type Statuses map[int]int64

// ParseStatuses reads {"code": status}. Codes have three digits; a status is one
// of those in which a row can rest (New, Crawled, Processed) or be taken up again.
func ParseStatuses(text string) (Statuses, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return nil, err
	}
	statuses := make(Statuses)
	for _, m := range members {
		code, err := strconv.Atoi(strings.TrimSpace(m.Name))
		if err != nil || code < 100 || code > 999 {
			return nil, fmt.Errorf("has the name %.80q, where an HTTP code is wanted", m.Name)
		}
		status := prop.Int(-1)
		if err := status.UnmarshalJSON(m.Value); err != nil {
			return nil, fmt.Errorf("at %.80q: %w", m.Name, err)
		}
		if status < wire.StatusUndefined || status > wire.StatusSelectedIncremental {
			return nil, fmt.Errorf("has %.80s at %q, where a status from %d to %d is wanted",
				m.Value, m.Name, wire.StatusUndefined, wire.StatusSelectedIncremental)
		}
		statuses[code] = int64(status)
	}
	return statuses, nil
}

// Of returns the status for a code; ok is false when the property has none.
func (s Statuses) Of(code int) (status int64, ok bool) {
	status, ok = s[code]
	return status, ok
}
