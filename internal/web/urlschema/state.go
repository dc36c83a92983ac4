package urlschema

import (
	"encoding/json"

	"hce/dc/internal/wire/prop"
)

// State holds the used values of a site's parameters, by name. Its JSON is {"list":
// {"value": {"frequency": 3}}, "numbers": 17}: the uses of each value, and the next number.
// The zero State is empty.
type State map[string]*Use

// Use is the use of one parameter.
type Use struct {
	Counts map[string]int64 // of TypePredefined, by value
	Next   *int64           // of TypeIncremental
}

type frequency struct {
	Frequency prop.Int `json:"frequency"`
}

// MarshalJSON writes the number or the counts.
func (u *Use) MarshalJSON() ([]byte, error) {
	if u.Next != nil {
		return json.Marshal(*u.Next)
	}
	counts := make(map[string]frequency, len(u.Counts))
	for value, n := range u.Counts {
		counts[value] = frequency{prop.Int(n)}
	}
	return json.Marshal(counts)
}

// UnmarshalJSON reads either. Other JSON gives an empty Use.
func (u *Use) UnmarshalJSON(raw []byte) error {
	*u = Use{}
	var counts map[string]frequency
	var next prop.Int
	switch {
	case len(raw) > 0 && raw[0] == '{':
		if json.Unmarshal(raw, &counts) != nil {
			return nil
		}
		u.Counts = make(map[string]int64, len(counts))
		for value, n := range counts {
			u.Counts[value] = min(max(int64(n.Frequency), 0), maxNumber)
		}
	case next.UnmarshalJSON(raw) == nil:
		n := int64(next)
		u.Next = &n
	}
	return nil
}

// useOf returns the entry of a parameter, and creates it if necessary.
func (s *State) useOf(name string) *Use {
	if *s == nil {
		*s = State{}
	}
	u := (*s)[name]
	if u == nil {
		u = &Use{}
		(*s)[name] = u
	}
	return u
}
