package template

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/wire/prop"
)

// Source is one element of TEMPLATE_SOURCE: a template outside of the site
// (docs/spec/processing.md 3.8). Who reads it, and whether it may be read, is the caller's
// concern.
type Source struct {
	Name     string // of the template that it replaces; "": it is added
	Kind     string // SourceFile or SourceHTTP
	Request  string // the path or URL
	Post     string // the body of a request, with macros; "": none
	Headers  []Header
	schedule *schedule
}

// Kinds of sources.
const (
	SourceFile = "file"
	SourceHTTP = "http"
)

// Header is a header of a request.
type Header struct{ Name, Value string }

// schedule says when a source is used.
type schedule struct {
	kind  int
	at    time.Time // zero: none
	step  time.Duration
	state string
}

// Kinds of schedules.
const (
	forRoots = iota // pages without a parent
	always
	once // after a time
	repeated
)

// maxSources bounds TEMPLATE_SOURCE.
const maxSources = 100

// ParseSources reads TEMPLATE_SOURCE: a list of sources, or one of them. An error names the
// source and the key.
func ParseSources(text string) ([]Source, error) {
	raw, err := propertyJSON(text)
	if raw == nil || err != nil {
		return nil, err
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := prop.Decode(string(raw), &list); err != nil {
			return nil, err
		}
	}
	if len(list) > maxSources {
		return nil, fmt.Errorf("has %d sources; the limit is %d", len(list), maxSources)
	}
	var sources []Source
	for i, raw := range list {
		s, err := readSource(raw)
		if err != nil {
			return nil, fmt.Errorf("source %d: %w", i+1, err)
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func readSource(raw json.RawMessage) (s Source, err error) {
	keys := readers{
		"name": textReader(&s.Name), "source": textReader(&s.Kind), "request": textReader(&s.Request), "post": textReader(&s.Post),
		"headers":  innerReader(s.readHeaders),
		"schedule": innerReader(s.readSchedule),
	}
	if err := keys.readObject(raw, func(string) {}); err != nil {
		return s, err
	}
	s.Kind = strings.ToLower(strings.TrimSpace(s.Kind))
	if s.Kind != SourceFile && s.Kind != SourceHTTP {
		return s, fmt.Errorf(`"source" has %.80q; expected file or http`, s.Kind)
	}
	if s.Request = strings.TrimSpace(s.Request); s.Request == "" {
		return s, fmt.Errorf(`"request" is missing`)
	}
	return s, nil
}

func (s *Source) readHeaders(raw json.RawMessage) error {
	var members prop.Members
	if err := prop.Decode(string(raw), &members); err != nil {
		return err
	}
	for _, m := range members {
		value, err := optionalText(m.Value)
		if err != nil {
			return fmt.Errorf("%w at %.80q", err, m.Name)
		}
		s.Headers = append(s.Headers, Header{m.Name, value})
	}
	return nil
}

// maxStep bounds the step of a schedule, in minutes.
const maxStep = 10 * 366 * 24 * 60

func (s *Source) readSchedule(raw json.RawMessage) error {
	var kind, step prop.Int
	var at string
	c := &schedule{}
	keys := readers{
		"type": func(raw json.RawMessage) error { return kind.UnmarshalJSON(raw) }, "at": textReader(&at),
		"step": func(raw json.RawMessage) error { return step.UnmarshalJSON(raw) }, "file": textReader(&c.state),
	}
	if err := keys.readObject(raw, func(string) {}); err != nil {
		return err
	}
	if kind < forRoots || kind > repeated {
		return fmt.Errorf(`"type" has %d; expected 0 to 3`, kind)
	}
	if step < 0 || step > maxStep || kind == repeated && step == 0 {
		return fmt.Errorf(`"step" has %d; expected minutes from 1 to %d`, step, maxStep)
	}
	c.kind, c.step = int(kind), time.Duration(step)*time.Minute
	if at = strings.TrimSpace(at); at != "" {
		t, err := time.Parse("2006-01-02 15:04", at)
		if err != nil {
			return fmt.Errorf(`"at" has %.80q; expected YYYY-MM-DD hh:mm`, at)
		}
		c.at = t
	}
	s.schedule = c
	return nil
}

// State returns the name of the file that keeps when the source was last used; "" if its
// schedule has none.
func (s *Source) State() string {
	if s.schedule == nil {
		return ""
	}
	return s.schedule.state
}

// Scheduled reports whether the source has a schedule. Without one it is never used.
func (s *Source) Scheduled() bool { return s.schedule != nil }

// Remembers reports whether Due depends on when the source was last used.
func (s *Source) Remembers() bool { return s.schedule != nil && s.schedule.kind >= once }

// Due reports whether the source is used at now for a page. root says that the page has no
// parent; last is when the source was last used, zero for never. A source without a schedule is
// never used. Times are UTC.
func (s *Source) Due(now time.Time, root bool, last time.Time) bool {
	c := s.schedule
	if c == nil {
		return false
	}
	switch c.kind {
	case forRoots:
		return root
	case always:
		return true
	}
	if now.Before(c.at) {
		return false
	}
	if c.kind == once {
		return last.IsZero() || last.Before(c.at)
	}
	return last.IsZero() || last.After(now) || now.Sub(last) >= c.step
}

// Body returns the body of the request of a page, with its macros %URL% and %RAW_CONTENT%
// replaced. What a macro inserts is not searched for macros.
func (s *Source) Body(url, raw string) string {
	return strings.NewReplacer("%RAW_CONTENT%", raw, "%URL%", url).Replace(s.Post)
}

// Merge adds the template of a source: T, or the first of a list. A template of the set with
// the same name is replaced, else it comes after those of earlier calls and before all others.
// name is its name if the answer has none. No other goroutine may use s meanwhile; see Clone.
func (s *Set) Merge(name, answer string) error {
	other, err := Parse(answer)
	if err != nil {
		return err
	}
	if len(other.Templates) == 0 || !other.Templates[0].HasTags() && other.Templates[0].OutputFormat == nil {
		return fmt.Errorf("has no template")
	}
	t := other.Templates[0]
	if t.Name == "" && name != "" {
		t.Name, t.label = name, fmt.Sprintf("%.80q", name)
	}
	if s.isEmpty() {
		s.Templates = nil
	}
	for i, old := range s.Templates {
		if t.Name != "" && old.Name == t.Name {
			s.Templates[i] = t
			return nil
		}
	}
	s.Templates = slices.Insert(s.Templates, s.merged, t)
	s.merged++
	return nil
}

// Clone returns a copy of the set that Merge may change.
func (s *Set) Clone() *Set {
	c := *s
	c.Templates = slices.Clone(s.Templates)
	return &c
}

// isEmpty reports whether the set is that of an empty property.
func (s *Set) isEmpty() bool {
	return len(s.Templates) == 1 && !s.Templates[0].HasTags() && s.Templates[0].OutputFormat == nil && s.Templates[0].Name == ""
}
