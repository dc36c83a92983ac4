package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of Compile. A rule with such an error never matches.
var (
	ErrPattern = errors.New("invalid pattern")
	ErrOpCode  = errors.New("unknown operation")
)

// Set holds the compiled filters of one site. It is immutable, so goroutines may share it.
// A nil Set accepts everything.
type Set struct{ rules []compiled }

// compiled is one enabled rule.
type compiled struct {
	Rule
	include      bool
	condition    bool          // an ungrouped comparison
	broken       bool          // never matches
	alternatives []pattern     // of OpRegexp
	values       []alternative // of comparisons
}

// alternative is one text of a pattern and whether it has macros.
type alternative struct {
	text   string
	macros bool
}

// Compile prepares rules and drops disabled ones. The errors name each invalid rule by
// index and pattern. An invalid rule matches nothing, but an invalid include rule still
// counts as an include rule: a typing error must not open a site to the whole web.
func Compile(rules []Rule) (*Set, []error) {
	set := &Set{}
	var errs []error
	for i, r := range rules {
		if r.State == 0 {
			continue
		}
		c := compiled{Rule: r, include: r.includes()}
		if err := c.compile(); err != nil {
			c.broken = true
			errs = append(errs, fmt.Errorf("compile filter rule %d: %w", i, err))
		}
		set.rules = append(set.rules, c)
	}
	return set, errs
}

func (c *compiled) compile() error {
	switch {
	case c.OpCode == OpSQL:
	case c.OpCode == OpRegexp:
		for _, text := range alternatives(c.Pattern) {
			p, err := newPattern(text)
			if err != nil {
				return fmt.Errorf("%w %.200q: %w", ErrPattern, text, err)
			}
			c.alternatives = append(c.alternatives, p)
		}
	case OpEqual <= c.OpCode && c.OpCode <= OpGreater:
		c.condition = c.literal() && c.Group == 0 && c.include
		for _, text := range alternatives(c.Pattern) {
			c.values = append(c.values, alternative{text, hasMacros(text)})
		}
	default:
		return fmt.Errorf("%w %d", ErrOpCode, c.OpCode)
	}
	return nil
}

// alternatives splits a pattern at CR LF. It drops empty lines, which would match
// everything: patterns often end with a line end.
func alternatives(text string) []string {
	if !strings.Contains(text, "\r\n") {
		return []string{text}
	}
	var out []string
	for line := range strings.SplitSeq(text, "\r\n") {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// Has reports whether an enabled rule has exactly this stage.
func (s *Set) Has(stage int) bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(s.rules, func(c compiled) bool { return c.Stage == stage })
}

// Accept reports whether url, or another short value, passes at the stage. Rules of
// StageAll also apply at StageLinks, StageRedirect and StageBeforeProcessor, rules of
// StageLinks also at StageRedirect.
func (s *Set) Accept(stage int, url string, env Env) bool {
	return s.accept(url, &env, func(c *compiled) bool { return appliesAt(stage, c.Stage) })
}

// appliesAt reports whether rules of stage of apply to URLs at stage.
func appliesAt(stage, of int) bool {
	switch stage {
	case StageRedirect:
		return of == stage || of == StageLinks || of == StageAll
	case StageLinks, StageBeforeProcessor:
		return of == stage || of == StageAll
	}
	return of == stage
}

// AcceptContent reports whether a content passes at the stage. Rules of StageAll, the
// default stage, do not apply: they are patterns of URLs.
func (s *Set) AcceptContent(stage int, content string, env Env) bool {
	return s.accept(content, &env, func(c *compiled) bool { return c.Stage == stage })
}

// Subjects of rules about a response.
const (
	RawContent   = "RAW_CONTENT" // same as an empty Subject
	HeadersAll   = "HEADERS_ALL"
	LastModified = "LAST_MODIFIED"
)

// AcceptSubject is AcceptContent for one part of a response: rules on other parts do not
// apply. Rules with a literal Subject apply to the raw content (docs/spec/crawling.md 5.5,
// 5.6).
func (s *Set) AcceptSubject(stage int, subject, value string, env Env) bool {
	return s.accept(value, &env, func(c *compiled) bool {
		if c.Stage != stage {
			return false
		}
		if c.Subject == HeadersAll || c.Subject == LastModified {
			return c.Subject == subject
		}
		return subject == RawContent
	})
}

// AcceptSQL applies only the OpSQL rules of exactly this stage. env.SQL must be set.
func (s *Set) AcceptSQL(stage int, env Env) bool {
	return s.accept("", &env, func(c *compiled) bool { return c.Stage == stage && c.OpCode == OpSQL })
}

// group is the combined result of the rules with one group and one effect.
type group struct {
	id      int
	include bool
	holds   bool
}

func (s *Set) accept(value string, env *Env, applies func(*compiled) bool) bool {
	if s == nil {
		return true
	}
	groups := make([]group, 0, 8)
	anyInclude, included := false, false
	for i := range s.rules {
		c := &s.rules[i]
		if !applies(c) || c.Mode != env.Mode || c.OpCode == OpSQL && env.SQL == nil {
			continue
		}
		if c.Group != 0 {
			g := groupOf(&groups, c)
			g.holds = g.holds && c.match(value, env)
			continue
		}
		match := c.match(value, env)
		switch {
		case c.condition:
			if !match {
				return false
			}
		case c.include:
			anyInclude = true
			included = included || match
		case match:
			return false
		}
	}
	for _, g := range groups {
		switch {
		case g.include:
			anyInclude = true
			included = included || g.holds
		case g.holds:
			return false
		}
	}
	return included || !anyInclude
}

// groupOf finds or adds the group of a rule. Sites have few groups, so a search is faster
// than a map.
func groupOf(groups *[]group, c *compiled) *group {
	for i := range *groups {
		if g := &(*groups)[i]; g.id == c.Group && g.include == c.include {
			return g
		}
	}
	*groups = append(*groups, group{id: c.Group, include: c.include, holds: true})
	return &(*groups)[len(*groups)-1]
}

func (c *compiled) match(value string, env *Env) bool {
	if c.broken {
		return false
	}
	if c.literal() {
		value = c.Subject
	}
	switch c.OpCode {
	case OpSQL:
		ok, err := env.SQL(expand(c.Pattern, env, false))
		return ok && err == nil
	case OpRegexp:
		for _, p := range c.alternatives {
			if p.match(value, env) {
				return true
			}
		}
		return false
	}
	for _, v := range c.values {
		text := v.text
		if v.macros {
			text = expand(text, env, false)
		}
		if compare(c.OpCode, value, text) {
			return true
		}
	}
	return false
}
