package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// propertyReader reads typed values of site properties. An invalid value counts as
// absent and adds the error "property NAME ...".
type propertyReader struct {
	get  func(name string) (value string, ok bool)
	errs []error
}

// PropertyError says why a property cannot be read.
type PropertyError struct{ Name, Reason string }

func (e *PropertyError) Error() string { return "property " + e.Name + " " + e.Reason }

// readText returns the trimmed value, or def if the property is absent.
func (r *propertyReader) readText(name, def string) string {
	if value, ok := r.get(name); ok {
		return strings.TrimSpace(value)
	}
	return def
}

// readNumber returns nil for an absent, empty or invalid value. wanted describes the valid
// values for the error.
func (r *propertyReader) readNumber(name, wanted string, valid func(int64) bool) *int64 {
	value := r.readText(name, "")
	if value == "" {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !valid(n) {
		r.errs = append(r.errs, &PropertyError{Name: name, Reason: fmt.Sprintf("has %q; expected %s", clipText([]byte(value)), wanted)})
		return nil
	}
	return &n
}

func valueOr(n *int64, def int64) int64 {
	if n == nil {
		return def
	}
	return *n
}
