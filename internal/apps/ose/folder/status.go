package folder

import (
	"fmt"
	"strconv"
)

// State is the first character of .osestatus.
type State byte

// The states of a folder, in their order. A state that ends in "ing" means that its step runs, or
// that its process ended within it: the lock tells which.
const (
	Idle     State = '0' // a cycle has ended: OSEM001 may begin
	Fetching State = '1' // OSEM001 has begun
	Fetched  State = '2' // OSEM001 has ended
	Parsing  State = '3' // OSEM002 has begun
	Merging  State = '4' // OSEM002 has ended, OSEM003 begins
)

// String returns the state in words.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Fetching:
		return "fetching"
	case Fetched:
		return "fetched"
	case Parsing:
		return "parsing"
	case Merging:
		return "merging"
	}
	return fmt.Sprintf("%q", byte(s))
}

// ID is the number of a fetched URL: 1 to MaxID, 0 for none.
type ID uint64

// MaxID is the largest number of 10 digits.
const MaxID ID = 9_999_999_999

// String returns the 10 digits.
func (id ID) String() string { return fmt.Sprintf("%010d", uint64(id)) }

// Status is the record of .osestatus.
type Status struct {
	State  State
	LastID ID // the last id that is durable
}

// statusSize is the length of .osestatus. The file has no line end.
const statusSize = 12

// String returns the record.
func (s Status) String() string { return string(s.State) + " " + s.LastID.String() }

// ParseStatus reads the record.
func ParseStatus(text string) (s Status, err error) {
	if len(text) != statusSize {
		return s, columnErrorf(min(len(text), statusSize)+1, "%d bytes instead of %d, without a line end", len(text), statusSize)
	}
	s.State = State(text[0])
	if s.State < Idle || s.State > Merging {
		return s, columnErrorf(1, "state %q instead of 0 to 4", text[0])
	}
	if text[1] != ' ' {
		return s, columnErrorf(2, "filler %q instead of a blank", text[1])
	}
	n, column := parseDigits(text[2:])
	if column > 0 {
		return s, columnErrorf(column+2, "last id %.10q is not 10 digits", text[2:])
	}
	s.LastID = ID(n)
	return s, nil
}

// parseDigits reads a number that consists of digits only. column is where another byte is, from 1, or 0.
func parseDigits(text string) (n uint64, column int) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, i + 1
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil { // empty
		return 0, 1
	}
	return n, 0
}
