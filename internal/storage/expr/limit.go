package expr

import (
	"strconv"
	"strings"
)

// maxLimit is the limit of both numbers of a LIMIT, so that offset plus count fits in
// 64 bits.
const maxLimit = 1 << 53

// Limit is the LIMIT of a criterion. If Set is false there is no limit.
type Limit struct {
	Offset, Count int64
	Set           bool
}

// ParseLimit reads the LIMIT of a criterion: "10" or "offset, count". A blank text gives an
// unset Limit. A negative number, one above 2^53 and any other text give an *Error.
// Source: docs/spec/objects.md 0, docs/spec/storage.md 5.1.
func ParseLimit(text string) (Limit, error) {
	if strings.TrimSpace(text) == "" {
		return Limit{}, nil
	}
	limit := Limit{Set: true}
	count := text
	var err error
	if offset, rest, two := strings.Cut(text, ","); two {
		count = rest
		limit.Offset, err = limitNumber(offset)
	}
	if err == nil {
		limit.Count, err = limitNumber(count)
	}
	if err != nil {
		if len(text) > 40 {
			text = text[:40] + "..."
		}
		return Limit{}, &Error{Part: "LIMIT " + strconv.QuoteToASCII(text), Reason: "is not a number, \"offset, count\" or [offset, count]"}
	}
	return limit, nil
}

func limitNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err == nil && (n < 0 || n > maxLimit) {
		err = strconv.ErrRange
	}
	return n, err
}

// SQL returns " LIMIT ? OFFSET ?" with bound numbers, for both databases. An unset
// limit gives zero SQL.
func (l Limit) SQL() SQL {
	if !l.Set {
		return SQL{}
	}
	return SQL{Text: " LIMIT ? OFFSET ?", Args: []any{l.Count, l.Offset}}
}
