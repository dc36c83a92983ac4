package filter

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/config"
)

// MIME keeps files by their MIME type: those that match an include pattern, all without one, but none
// that matches an exclude pattern. A "*" in a pattern is any text: "*", "image/*", "application/*+xml".
// Case does not count.
type MIME struct{ include, exclude []*regexp.Regexp }

// NewMIME returns the filter of these patterns.
func NewMIME(include, exclude []string) (*MIME, error) {
	m := &MIME{}
	var err error
	if m.include, err = compilePatterns(include); err == nil {
		m.exclude, err = compilePatterns(exclude)
	}
	return m, err
}

func readMIME(s *config.Section) (Filter, error) {
	f, err := NewMIME(s.Names("include", nil), s.Names("exclude", nil))
	if err != nil {
		return nil, err
	}
	return f, nil
}

var typePattern = regexp.MustCompile(`^[A-Za-z0-9!#$&^_.+*-]+(?:/[A-Za-z0-9!#$&^_.+*-]+)?$`)

func compilePatterns(texts []string) (list []*regexp.Regexp, err error) {
	for _, text := range texts {
		if len(text) > 255 || !typePattern.MatchString(text) || text != "*" && !strings.Contains(text, "/") {
			return nil, fmt.Errorf("pattern %.300q is not a MIME type such as text/html, text/* or *", text)
		}
		list = append(list, regexp.MustCompile(`(?i)^`+strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, `.*`)+`$`))
	}
	return list, nil
}

// Keep implements Filter.
func (f *MIME) Keep(_ context.Context, m archive.Meta) (bool, error) {
	return (len(f.include) == 0 || anyMatches(f.include, m.MIMEType)) && !anyMatches(f.exclude, m.MIMEType), nil
}

func anyMatches(list []*regexp.Regexp, kind string) bool {
	for _, r := range list {
		if r.MatchString(kind) {
			return true
		}
	}
	return false
}

// Close implements Filter.
func (f *MIME) Close() error { return nil }
