package expr

import (
	"encoding/json"
	"fmt"
	"math"
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

// ParseLimit reads the LIMIT of a criterion: a number, a text "5" or "0, 10", or a
// list [offset, count] as encoding/json decodes it. nil and "" give an unset Limit. A
// fraction, a negative number, a number above 2^53 and any other shape give an *Error.
// Source: docs/spec/objects.md 0, docs/spec/storage.md 5.1.
func ParseLimit(v any) (Limit, error) {
	var parts []any
	switch v := v.(type) {
	case nil:
		return Limit{}, nil
	case string:
		if strings.TrimSpace(v) == "" {
			return Limit{}, nil
		}
		for _, part := range strings.Split(v, ",") {
			parts = append(parts, strings.TrimSpace(part))
		}
	case []any:
		parts = v
	case []int64:
		for _, n := range v {
			parts = append(parts, n)
		}
	case []int:
		for _, n := range v {
			parts = append(parts, n)
		}
	default:
		parts = []any{v}
	}
	numbers := make([]int64, 0, 2)
	for _, part := range parts {
		n, ok := limitNumber(part)
		if !ok || len(numbers) == 2 {
			return Limit{}, badLimit(v)
		}
		numbers = append(numbers, n)
	}
	switch len(numbers) {
	case 1:
		return Limit{Count: numbers[0], Set: true}, nil
	case 2:
		return Limit{Offset: numbers[0], Count: numbers[1], Set: true}, nil
	}
	return Limit{}, badLimit(v)
}

// SQL returns " LIMIT ? OFFSET ?" with bound numbers, for both databases. An unset
// limit gives zero SQL.
func (l Limit) SQL() SQL {
	if !l.Set {
		return SQL{}
	}
	return SQL{Text: " LIMIT ? OFFSET ?", Args: []any{l.Count, l.Offset}}
}

func badLimit(v any) *Error {
	shown := fmt.Sprintf("%v", v)
	if len(shown) > 40 {
		shown = shown[:40] + "..."
	}
	return &Error{Part: "LIMIT " + strconv.QuoteToASCII(shown), Reason: "is not a number, \"offset, count\" or [offset, count]"}
}

func limitNumber(v any) (int64, bool) {
	var n int64
	switch v := v.(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	case float64:
		if v != math.Trunc(v) || v < 0 || v > maxLimit {
			return 0, false
		}
		n = int64(v)
	case json.Number:
		return limitNumber(v.String())
	case string:
		parsed, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return 0, false
		}
		n = parsed
	default:
		return 0, false
	}
	return n, n >= 0 && n <= maxLimit
}
