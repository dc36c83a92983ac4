// Package property reads the properties of a site, overridden by those of a batch item, as
// typed values.
//
//	p := property.Of(&site, item.Properties)
//	delay := p.Seconds("CONNECTION_TIMEOUT", 10*time.Second)
//	types := property.Parsed(p, "ALLOWED_CTYPES", content.ParseTypes)
//	// p.Errs names each property that cannot be read; it counts as absent
package property

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/secret"
)

// Values reads property texts as typed values and collects errors. A property that cannot be
// read counts as absent. Not safe for concurrent use.
type Values struct {
	Texts map[string]string
	Names []string // that were read so far
	Errs  []error  // each names a property that cannot be read

	broken []string // properties in Errs
}

// Of overrides the site's properties with the item's. The last of several values wins.
// Properties of single URLs are ignored.
func Of(site *wire.Site, over map[string]string) *Values {
	p := &Values{Texts: map[string]string{}}
	for _, row := range site.Properties {
		if row.URLMd5 == "" {
			p.Texts[row.Name] = row.Value
		}
	}
	maps.Copy(p.Texts, over)
	return p
}

// Fail records that a property cannot be read. The reason may quote its value: a secret one is hidden.
func (p *Values) Fail(name, reason string) {
	p.Errs = append(p.Errs, &lenient.PropertyError{Name: name, Reason: secret.ShowReason(name, p.Texts[name], reason)})
	p.broken = append(p.broken, name)
}

// Text returns a property without outer spaces; "" if it is absent or JSON null.
func (p *Values) Text(name string) string {
	p.Names = append(p.Names, name)
	text := strings.TrimSpace(p.Texts[name])
	if text == "null" {
		return ""
	}
	return text
}

// Lookup returns a property, and whether it is present.
func (p *Values) Lookup(name string) (string, bool) {
	_, given := p.Texts[name]
	return p.Text(name), given
}

// Failed reports whether a property could not be read.
func (p *Values) Failed(name string) bool {
	return slices.Contains(p.broken, name)
}

// Parsed reads a property with its package's parser. It returns the zero value if the property is
// absent or cannot be read.
func Parsed[T any](p *Values, name string, parse func(string) (T, error)) T {
	var none T
	return ParsedOr(p, name, none, parse)
}

// ParsedOr is Parsed with a default value.
func ParsedOr[T any](p *Values, name string, def T, parse func(string) (T, error)) T {
	before := len(p.Errs)
	value := ParsedInPart(p, name, parse)
	if len(p.Errs) > before || p.Text(name) == "" {
		return def
	}
	return value
}

// ParsedInPart is Parsed for properties whose valid parts count even if others cannot be read.
func ParsedInPart[T any](p *Values, name string, parse func(string) (T, error)) (value T) {
	text := p.Text(name)
	if text == "" {
		return value
	}
	value, err := parse(text)
	if err != nil {
		p.Fail(name, err.Error())
	}
	return value
}

// Within reads a number. A number outside low to high is an error.
func (p *Values) Within(name string, def, low, high int64) int64 {
	n := p.Int(name, def)
	if n < low || n > high {
		p.Fail(name, fmt.Sprintf("is %d, not a number from %d to %d", n, low, high))
		return def
	}
	return n
}

// Int reads a whole number.
func (p *Values) Int(name string, def int64) int64 {
	return ParsedOr(p, name, def, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("is %q, not a whole number", prop.Clip(text))
		}
		return n, err
	})
}

// On reads a switch: a number above 0 is on.
func (p *Values) On(name string, def bool) bool {
	return p.Int(name, map[bool]int64{true: 1}[def]) > 0
}

// Seconds reads a number of seconds above 0, up to 3600.
func (p *Values) Seconds(name string, def time.Duration) time.Duration {
	return ParsedOr(p, name, def, func(text string) (time.Duration, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f > 0 && f <= 3600) {
			return 0, fmt.Errorf("is %q, not a number of seconds up to 3600", prop.Clip(text))
		}
		return time.Duration(f * float64(time.Second)), nil
	})
}

// Prefixed returns the properties whose name begins with prefix, by the rest of the name.
func (p *Values) Prefixed(prefix string) map[string]string {
	p.Names = append(p.Names, prefix)
	found := map[string]string{}
	for name, value := range p.Texts {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			found[rest] = value
		}
	}
	return found
}
