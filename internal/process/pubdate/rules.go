package pubdate

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // names of zones do not depend on the machine

	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/datetext"
	"hce/dc/internal/web/pdate"
	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/property"
)

// Rules are the properties of a site about dates. The zero value has no source; use Read.
// Goroutines may share them.
type Rules struct {
	Masks      pdate.Masks
	Expression string // PDATE_SOURCES_EXPRESSION of PROCESSOR_PROPERTIES

	orders []order
	times  []computed
	shifts []shift
}

// order is an element of PDATE_DAY_MONTH_ORDER.
type order struct {
	pattern *pyregexp.Regexp
	order   datetext.Order
}

// computed is an element of PDATE_TIME.
type computed struct {
	pattern    *pyregexp.Regexp
	expression string
}

// shift is an element of PDATE_TIMEZONES.
type shift struct {
	pattern   *pyregexp.Regexp
	from, to  zone
	condition int
}

// Conditions of a shift.
const (
	always = iota
	ifZoned
	ifUnzoned
	ifFrom
	ifNotFrom
)

// maxRules is the most elements of one property.
const maxRules = 100

// Read reads the properties of a site. p.Errs gets the name of each property that cannot be
// read, with its key and value; its valid elements count. expression is
// PDATE_SOURCES_EXPRESSION of PROCESSOR_PROPERTIES, or "".
func Read(p *property.Values, expression string) Rules {
	r := Rules{Masks: pdate.Default, Expression: strings.TrimSpace(expression)}
	r.Masks.Sources = property.ParsedOr(p, "PDATE_SOURCES_MASK", r.Masks.Sources, pdate.ParseMask)
	r.Masks.Overwrite = property.ParsedOr(p, "PDATE_SOURCES_MASK_OVERWRITE", r.Masks.Overwrite, pdate.ParseMask)
	r.orders = property.ParsedInPart(p, "PDATE_DAY_MONTH_ORDER", parseOrders)
	r.times = property.ParsedInPart(p, "PDATE_TIME", parseTimes)
	r.shifts = property.ParsedInPart(p, "PDATE_TIMEZONES", parseShifts)
	return r
}

func parseOrders(text string) ([]order, error) {
	return parseList(text, func(e element) (o order, err error) {
		n := prop.Int(-1)
		if err := e.decodeKey("order", &n); err != nil {
			return o, err
		}
		switch n {
		case 0:
			o.order = datetext.DayFirst
		case 1:
			o.order = datetext.MonthFirst
		default:
			return o, e.valueError("order", "0 or 1")
		}
		o.pattern, err = e.compilePattern()
		return o, err
	})
}

func parseTimes(text string) ([]computed, error) {
	return parseList(text, func(e element) (c computed, err error) {
		if err := e.decodeKey("value", &c.expression); err != nil {
			return c, err
		}
		if c.expression = strings.TrimSpace(c.expression); c.expression == "" {
			return c, e.valueError("value", "an SQL expression")
		}
		c.pattern, err = e.compilePattern()
		return c, err
	})
}

func parseShifts(text string) ([]shift, error) {
	return parseList(text, func(e element) (s shift, err error) {
		condition := prop.Int(always)
		if err := e.decodeKey("condition", &condition); err != nil {
			return s, err
		}
		if condition < always || condition > ifNotFrom {
			return s, e.valueError("condition", "0 to 4")
		}
		s.condition = int(condition)
		if s.to, err = e.readZone("zone_to"); err != nil {
			return s, err
		}
		if !s.to.given {
			return s, errors.New("has no zone_to")
		}
		if s.from, err = e.readZone("zone_from"); err != nil {
			return s, err
		}
		if !s.from.given && s.condition >= ifFrom {
			return s, e.valueError("condition", "a zone_from with it")
		}
		s.pattern, err = e.compilePattern()
		return s, err
	})
}

// element is an object of a property that is a list.
type element map[string]prop.Member

// parseList parses a list of objects, or one object. The result has the valid elements; the
// error names the others by number, key and value.
func parseList[T any](text string, parse func(element) (T, error)) (all []T, err error) {
	var objects []prop.Members
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		objects = make([]prop.Members, 1)
		err = prop.Decode(text, &objects[0])
	} else {
		err = prop.Decode(text, &objects)
	}
	if err != nil {
		return nil, err
	}
	var errs []string
	if len(objects) > maxRules {
		errs = append(errs, fmt.Sprintf("has %d elements; the first %d count", len(objects), maxRules))
		objects = objects[:maxRules]
	}
	for i, members := range objects {
		e := element{}
		for _, m := range members {
			e[m.Name] = m
		}
		one, err := parse(e)
		if err != nil {
			errs = append(errs, fmt.Sprintf("element %d %v", i+1, err))
			continue
		}
		all = append(all, one)
	}
	if errs != nil {
		const most = 5
		return all, errors.New(strings.Join(errs[:min(len(errs), most)], "; "))
	}
	return all, nil
}

// decodeKey decodes the value of a key into v, which stays as it is without the key.
func (e element) decodeKey(key string, v any) error {
	m, given := e[key]
	if !given {
		return nil
	}
	if err := prop.Decode(string(m.Value), v); err != nil {
		return fmt.Errorf("at %q: %w", key, err)
	}
	return nil
}

// valueError returns an error about the value of a key.
func (e element) valueError(key, expected string) error {
	if m, given := e[key]; given {
		return fmt.Errorf("has %s %s; expected %s", key, prop.Clip(string(m.Value)), expected)
	}
	return fmt.Errorf("has no %s; expected %s", key, expected)
}

// compilePattern compiles the pattern of URLs. An absent or empty one matches each URL.
func (e element) compilePattern() (*pyregexp.Regexp, error) {
	var text string
	if err := e.decodeKey("pattern", &text); err != nil {
		return nil, err
	}
	re, err := pyregexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("has the pattern %q, which is not a regular expression: %w", prop.Clip(text), err)
	}
	return re, nil
}

// zone is a time zone of a rule.
type zone struct {
	given bool
	place *time.Location // nil: the zone of the server
}

// locationIn returns the location of the zone. server is that of the server.
func (z zone) locationIn(server *time.Location) *time.Location {
	if z.place == nil {
		return server
	}
	return z.place
}

// placeName is a name of the IANA database, such as Europe/Kyiv.
var placeName = regexp.MustCompile(`^[A-Za-z_]+(/[A-Za-z0-9_+-]+){1,2}$`)

// readZone reads the zone of a key: LOCAL, an abbreviation, an offset such as +2, -02:00 and
// +0530, or a name such as Europe/Kyiv. An absent or empty one is not given.
func (e element) readZone(key string) (z zone, err error) {
	var text prop.Texts
	if err := e.decodeKey(key, &text); err != nil || len(text) == 0 || strings.TrimSpace(text[0]) == "" {
		return z, err
	}
	name := strings.TrimSpace(text[0])
	z.given = true
	if strings.EqualFold(name, "LOCAL") {
		return z, nil
	}
	signed := name
	if name[0] >= '0' && name[0] <= '9' { // a number without quotes loses its plus
		signed = "+" + name
	}
	if offset, ok := dates.Zone(signed); ok {
		z.place = datetext.Fixed(offset)
		return z, nil
	}
	if placeName.MatchString(name) {
		if z.place, err = time.LoadLocation(name); err == nil {
			return z, nil
		}
	}
	return z, e.valueError(key, "LOCAL, an abbreviation, an offset such as +0200 or a name such as Europe/Kyiv")
}
