package crawl

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// properties reads property texts as typed values and collects errors. A property that cannot be
// read counts as absent.
type properties struct {
	values map[string]string
	names  []string // that were read so far
	broken []string // that could not be read
	errs   []error
}

// propertiesOf overrides the site's properties with the item's. The last of several values wins.
// Properties of single URLs are ignored.
func propertiesOf(site *wire.Site, over map[string]string) *properties {
	p := &properties{values: map[string]string{}}
	for _, row := range site.Properties {
		if row.URLMd5 == "" {
			p.values[row.Name] = row.Value
		}
	}
	maps.Copy(p.values, over)
	return p
}

// fail records that a property cannot be read.
func (p *properties) fail(name, reason string) {
	p.errs = append(p.errs, errors.New("property "+name+" "+reason))
	p.broken = append(p.broken, name)
}

// text returns a property without outer spaces; "" if it is absent or JSON null.
func (p *properties) text(name string) string {
	p.names = append(p.names, name)
	text := strings.TrimSpace(p.values[name])
	if text == "null" {
		return ""
	}
	return text
}

// lookup returns a property, and whether it is present.
func (p *properties) lookup(name string) (string, bool) {
	_, given := p.values[name]
	return p.text(name), given
}

// failed reports whether a property could not be read.
func (p *properties) failed(name string) bool {
	return slices.Contains(p.broken, name)
}

// parsed reads a property with its package's parser. It returns the zero value if the property is
// absent or cannot be read.
func parsed[T any](p *properties, name string, parse func(string) (T, error)) T {
	var none T
	return parsedOr(p, name, none, parse)
}

// parsedOr is parsed with a default value.
func parsedOr[T any](p *properties, name string, def T, parse func(string) (T, error)) T {
	before := len(p.errs)
	value := parsedInPart(p, name, parse)
	if len(p.errs) > before || p.text(name) == "" {
		return def
	}
	return value
}

// parsedInPart is parsed for properties whose valid parts count even if others cannot be read.
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

// within reads a number. A number outside low to high is an error.
func (p *properties) within(name string, def, low, high int64) int64 {
	n := p.int(name, def)
	if n < low || n > high {
		p.fail(name, fmt.Sprintf("is %d, not a number from %d to %d", n, low, high))
		return def
	}
	return n
}

func (p *properties) int(name string, def int64) int64 {
	return parsedOr(p, name, def, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("is %q, not a whole number", prop.Clip(text))
		}
		return n, err
	})
}

func (p *properties) on(name string, def bool) bool {
	return p.int(name, map[bool]int64{true: 1}[def]) > 0
}

func (p *properties) seconds(name string, def time.Duration) time.Duration {
	return parsedOr(p, name, def, func(text string) (time.Duration, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f > 0 && f <= 3600) {
			return 0, fmt.Errorf("is %q, not a number of seconds up to 3600", prop.Clip(text))
		}
		return time.Duration(f * float64(time.Second)), nil
	})
}

// prefixed returns the properties whose name begins with prefix, by the rest of the name.
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
