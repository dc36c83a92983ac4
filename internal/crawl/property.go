package crawl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire"
)

// properties reads texts as what they mean and collects what cannot be read. A
// property that cannot be read is as if it were not there.
type properties struct {
	values map[string]string
	names  []string // asked for so far
	errs   []error
}

// propertiesOf lays the item's properties over the site's. The last of several
// values wins; those of single URLs are not meant here.
func propertiesOf(site *wire.Site, over map[string]string) *properties {
	p := &properties{values: map[string]string{}}
	for _, row := range site.Properties {
		if row.URLMd5 == "" {
			p.values[row.Name] = row.Value
		}
	}
	for name, value := range over {
		p.values[name] = value
	}
	return p
}

// propertyError says which property of a site could not be read, and why.
type propertyError struct{ name, reason string }

func (e propertyError) Error() string { return "property " + e.name + " " + e.reason }

func (p *properties) fail(name, reason string) {
	p.errs = append(p.errs, propertyError{name, reason})
}

// text is a property without outer spaces; "" for none, and for JSON's null.
func (p *properties) text(name string) string {
	p.names = append(p.names, name)
	text := strings.TrimSpace(p.values[name])
	if text == "null" {
		return ""
	}
	return text
}

// lookup is a property, and whether there is one.
func (p *properties) lookup(name string) (string, bool) {
	_, given := p.values[name]
	return p.text(name), given
}

// failed reports whether a property could not be read.
func (p *properties) failed(name string) bool {
	return slices.ContainsFunc(p.errs, func(err error) bool {
		e, ok := err.(propertyError)
		return ok && e.name == name
	})
}

// parsed reads a property by the package that it belongs to; the zero value is
// the property that is not given, or cannot be read.
func parsed[T any](p *properties, name string, parse func(string) (T, error)) T {
	var none T
	return parsedOr(p, name, none, parse)
}

// parsedOr is parsed with a default of its own.
func parsedOr[T any](p *properties, name string, def T, parse func(string) (T, error)) T {
	before := len(p.errs)
	value := parsedInPart(p, name, parse)
	if len(p.errs) > before || p.text(name) == "" {
		return def
	}
	return value
}

// parsedInPart is parsed for properties of which the good parts are followed when
// others cannot be read.
func parsedInPart[T any](p *properties, name string, parse func(string) (T, error)) (value T) {
	text := p.text(name)
	if text == "" {
		return value
	}
	value, err := parse(text)
	if err != nil {
		p.fail(name, err.Error())
	}
	return value
}

// within is int for numbers of which only those from low to high mean something.
func (p *properties) within(name string, def, low, high int64) int64 {
	n := p.int(name, def)
	if n < low || n > high {
		p.fail(name, fmt.Sprintf("is %d, not a number from %d to %d", n, low, high))
		return def
	}
	return n
}

func (p *properties) int(name string, def int64) int64 {
	text := p.text(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(name, fmt.Sprintf("is %q, not a whole number", clip(text)))
		return def
	}
	return n
}

func (p *properties) on(name string, def bool) bool {
	n := int64(0)
	if def {
		n = 1
	}
	return p.int(name, n) > 0
}

func (p *properties) seconds(name string, def time.Duration) time.Duration {
	text := p.text(name)
	if text == "" {
		return def
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0 && f <= 3600) {
		p.fail(name, fmt.Sprintf("is %q, not a number of seconds up to 3600", clip(text)))
		return def
	}
	return time.Duration(f * float64(time.Second))
}

// prefixed are the properties whose name goes on behind a prefix, by the rest.
func (p *properties) prefixed(prefix string) map[string]string {
	p.names = append(p.names, prefix)
	found := map[string]string{}
	for name, value := range p.values {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			found[rest] = value
		}
	}
	return found
}

// clip is a value for a message, cut where it is long.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}
