package lenient

import (
	"fmt"
	"strconv"
	"strings"
)

// PropertyReader reads typed values of site properties. An invalid value counts as
// absent and adds the error "property NAME ...".
type PropertyReader struct {
	Get  func(name string) (value string, ok bool)
	Errs []error
}

// PropertyError says why a property cannot be read.
type PropertyError struct{ Name, Reason string }

func (e *PropertyError) Error() string { return "property " + e.Name + " " + e.Reason }

// ReadText returns the trimmed value, or def if the property is absent.
func (r *PropertyReader) ReadText(name, def string) string {
	if value, ok := r.Get(name); ok {
		return strings.TrimSpace(value)
	}
	return def
}

// ReadNumber returns nil for an absent, empty or invalid value. wanted describes the valid
// values for the error.
func (r *PropertyReader) ReadNumber(name, wanted string, valid func(int64) bool) *int64 {
	value := r.ReadText(name, "")
	if value == "" {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !valid(n) {
		r.Errs = append(r.Errs, &PropertyError{Name: name, Reason: fmt.Sprintf("has %q; expected %s", ClipText([]byte(value)), wanted)})
		return nil
	}
	return &n
}

// ValueOr returns the number, or def for nil.
func ValueOr(n *int64, def int64) int64 {
	if n == nil {
		return def
	}
	return *n
}
