package filter

import (
	"errors"
	"fmt"
	"strings"
)

// ErrPattern says that a rule has a pattern that cannot be compiled, ErrOpCode
// that its operation is unknown. Such a rule never matches.
var (
	ErrPattern = errors.New("invalid pattern")
	ErrOpCode  = errors.New("unknown operation")
)

// Set is the filters of one site, ready for use. It does not change and is safe
// for concurrent use. The nil Set accepts everything.
type Set struct{ rules []compiled }

// compiled is one rule that is on.
type compiled struct {
	Rule
	include      bool
	condition    bool          // a comparison that stands alone
	broken       bool          // never matches
	alternatives []pattern     // of OpRegexp
	values       []alternative // of the comparisons
}

// alternative is one text of a pattern and whether it has macros.
type alternative struct {
	text   string
	macros bool
}

// Compile prepares rules for use. Rules that are off are dropped. A rule that
// cannot work is named in the errors, by its index and pattern, and stops no
// other: it matches nothing from then on, but an include rule still counts as
// one, so that a slip of the pen does not open a site to the whole web.
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
			errs = append(errs, fmt.Errorf("filter.Compile: rule %d: %w", i, err))
		}
		set.rules = append(set.rules, c)
	}
	return set, errs
}

// compile prepares the pattern for its operation.
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

// alternatives splits a pattern at CR LF. Empty lines are dropped, as the last
// one is often followed by a line end and an empty expression matches everything.
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

// Has reports whether a rule of exactly this stage is on.
func (s *Set) Has(stage int) bool {
	if s == nil {
		return false
	}
	for i := range s.rules {
		if s.rules[i].Stage == stage {
			return true
		}
	}
	return false
}

// Accept reports whether url, or another short value, passes at the stage. The
// rules of StageAll join StageLinks, StageRedirect and StageBeforeProcessor, those
// of StageLinks join StageRedirect.
func (s *Set) Accept(stage int, url string, env Env) bool {
	return s.accept(url, &env, func(c *compiled) bool { return asked(stage, c.Stage) })
}

// asked reports whether the rules of a stage are asked for URLs at another.
func asked(stage, of int) bool {
	switch stage {
	case StageRedirect:
		return of == stage || of == StageLinks || of == StageAll
	case StageLinks, StageBeforeProcessor:
		return of == stage || of == StageAll
	}
	return of == stage
}

// AcceptContent reports whether a content passes at the stage. The rules of
// StageAll, the default of a rule, are not asked: they are patterns of URLs, and
// hardly any page would hold one.
func (s *Set) AcceptContent(stage int, content string, env Env) bool {
	return s.accept(content, &env, func(c *compiled) bool { return c.Stage == stage })
}

// The subjects of rules about a response.
const (
	RawContent   = "RAW_CONTENT" // and the empty Subject
	HeadersAll   = "HEADERS_ALL"
	LastModified = "LAST_MODIFIED"
)

// AcceptSubject is AcceptContent for one part of a response: the rules that name
// another part are not asked. Rules with a literal Subject are asked with the raw
// content (docs/spec/crawling.md 5.5, 5.6).
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

// AcceptSQL asks the OpSQL rules of exactly this stage alone; without any, all is
// accepted. executor.SQL must be set.
func (s *Set) AcceptSQL(stage int, env Env) bool {
	return s.accept("", &env, func(c *compiled) bool { return c.Stage == stage && c.OpCode == OpSQL })
}

// group is what the rules of one group and one effect say together.
type group struct {
	id      int
	include bool
	holds   bool
}

// accept asks the rules that apply in one pass.
func (s *Set) accept(value string, env *Env, applies func(*compiled) bool) bool {
	if s == nil {
		return true
	}
	var room [8]group
	groups := room[:0]
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

// groupOf finds or adds the group of a rule. Sites have a handful of groups, so
// a search is quicker than a map.
func groupOf(groups *[]group, c *compiled) *group {
	for i := range *groups {
		if g := &(*groups)[i]; g.id == c.Group && g.include == c.include {
			return g
		}
	}
	*groups = append(*groups, group{id: c.Group, include: c.include, holds: true})
	return &(*groups)[len(*groups)-1]
}

// match reports whether the rule matches value.
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
