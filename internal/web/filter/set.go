package filter

import (
	"fmt"
	"slices"
	"strings"
)

// Set holds the compiled filters of one site. It is immutable, so goroutines may share it.
// A nil Set accepts everything.
type Set struct{ rules []compiled }

// Effects of a rule. A condition is an ungrouped comparison.
const (
	includes  = "include"
	excludes  = "exclude"
	condition = "condition"
)

// compiled is one enabled rule.
type compiled struct {
	Rule
	effect   string
	broken   bool      // never matches
	patterns []pattern // of OpRegexp
	values   []string  // of comparisons
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
		c := compiled{Rule: r, effect: excludes}
		if r.Action > 0 || r.Action == 0 && r.Type != 0 { // stored rules use one (docs/spec/crawling.md 7.1 #12)
			c.effect = includes
		}
		if err := c.compileRule(); err != nil {
			c.broken = true
			errs = append(errs, fmt.Errorf("compile filter rule %d: %w", i, err))
		}
		set.rules = append(set.rules, c)
	}
	return set, errs
}

func (c *compiled) compileRule() error {
	switch {
	case c.OpCode == OpSQL:
	case c.OpCode == OpRegexp:
		for _, text := range splitAlternatives(c.Pattern) {
			p, err := newPattern(text)
			if err != nil {
				return fmt.Errorf("invalid pattern %.200q: %w", text, err)
			}
			c.patterns = append(c.patterns, p)
		}
	case OpEqual <= c.OpCode && c.OpCode <= OpGreater:
		if c.isLiteral() && c.Group == 0 && c.effect == includes {
			c.effect = condition
		}
		c.values = splitAlternatives(c.Pattern)
	default:
		return fmt.Errorf("unknown operation %d", c.OpCode)
	}
	return nil
}

// splitAlternatives splits a pattern at CR LF. It drops empty lines, which would match
// everything: patterns often end with a line end.
func splitAlternatives(text string) []string {
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
// StageLinks also at StageRedirect. Rules of StageAll, the default stage, are patterns of
// URLs, so they do not apply to contents.
func (s *Set) Accept(stage int, url string, env Env) bool {
	return s.acceptsValue(url, &env, func(c *compiled) bool { return appliesAt(stage, c.Stage) })
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

// Subjects of rules about a response.
const (
	RawContent   = "RAW_CONTENT" // same as an empty Subject
	HeadersAll   = "HEADERS_ALL"
	LastModified = "LAST_MODIFIED"
)

// AcceptSubject reports whether one part of a response passes at the stage: rules on other
// parts do not apply. Rules with a literal Subject apply to the raw content
// (docs/spec/crawling.md 5.5, 5.6).
func (s *Set) AcceptSubject(stage int, subject, value string, env Env) bool {
	return s.acceptsValue(value, &env, rulesOnSubject(stage, subject))
}

// rulesOnSubject selects the rules of a stage on one part of a response.
func rulesOnSubject(stage int, subject string) func(*compiled) bool {
	return func(c *compiled) bool {
		if c.Stage != stage {
			return false
		}
		if c.Subject == HeadersAll || c.Subject == LastModified {
			return c.Subject == subject
		}
		return subject == RawContent
	}
}

// HasSQL reports whether an enabled rule has exactly this stage and is OpSQL.
func (s *Set) HasSQL(stage int) bool {
	return s != nil && slices.ContainsFunc(s.rules, func(c compiled) bool { return c.Stage == stage && c.OpCode == OpSQL })
}

// AcceptSQL applies only the OpSQL rules of exactly this stage. env.SQL must be set.
func (s *Set) AcceptSQL(stage int, env Env) bool { return s.acceptsValue("", &env, rulesOnSQL(stage)) }

// rulesOnSQL selects the OpSQL rules of a stage.
func rulesOnSQL(stage int) func(*compiled) bool {
	return func(c *compiled) bool { return c.Stage == stage && c.OpCode == OpSQL }
}

// group is the combined result of the rules with one group and one effect.
type group struct {
	id     int
	effect string
	holds  bool
}

// Excludes reports whether an exclude rule matches url at the stage. Unlike Accept it lets a
// url pass that no include rule matches.
func (s *Set) Excludes(stage int, url string, env Env) bool {
	if s == nil {
		return false
	}
	excluding := &Set{rules: slices.DeleteFunc(slices.Clone(s.rules), func(c compiled) bool { return c.effect == includes })}
	return !excluding.Accept(stage, url, env)
}

func (s *Set) acceptsValue(value string, env *Env, applies func(*compiled) bool) bool {
	if s == nil {
		return true
	}
	var groups []group
	anyInclude, included := false, false
	for i := range s.rules {
		c := &s.rules[i]
		if !applies(c) || c.Mode != env.Mode || c.OpCode == OpSQL && env.SQL == nil {
			continue
		}
		if c.Group != 0 {
			g := groupOf(&groups, c)
			g.holds = g.holds && c.matchesRule(value, env)
			continue
		}
		match := c.matchesRule(value, env)
		if c.effect == condition && !match || c.effect == excludes && match {
			return false
		}
		anyInclude = anyInclude || c.effect == includes
		included = included || c.effect == includes && match
	}
	for _, g := range groups {
		if g.effect == excludes && g.holds {
			return false
		}
		anyInclude = anyInclude || g.effect == includes
		included = included || g.effect == includes && g.holds
	}
	return included || !anyInclude
}

// groupOf finds or adds the group of a rule. Sites have few groups, so a search is faster
// than a map.
func groupOf(groups *[]group, c *compiled) *group {
	for i := range *groups {
		if g := &(*groups)[i]; g.id == c.Group && g.effect == c.effect {
			return g
		}
	}
	*groups = append(*groups, group{c.Group, c.effect, true})
	return &(*groups)[len(*groups)-1]
}

func (c *compiled) matchesRule(value string, env *Env) bool {
	if c.broken {
		return false
	}
	if c.isLiteral() {
		value = c.Subject
	}
	switch c.OpCode {
	case OpSQL:
		ok, err := env.SQL(expandMacros(c.Pattern, env, false))
		return ok && err == nil
	case OpRegexp:
		return slices.ContainsFunc(c.patterns, func(p pattern) bool { return p.matchesValue(value, env) })
	}
	return slices.ContainsFunc(c.values, func(text string) bool { return compareNumbers(c.OpCode, value, expandMacros(text, env, false)) })
}

// Verdict is the result of one rule for a value.
type Verdict struct {
	Rule    Rule
	Applies bool   // the rule has the stage and mode
	Effect  string // "include", "exclude", "condition", or "broken" for an invalid rule
	Matches bool   // false if the rule does not apply
}

// Explain returns the verdict of each enabled rule on url at the stage, in their order, and
// the result of Accept.
func (s *Set) Explain(stage int, url string, env Env) ([]Verdict, bool) {
	return s.explainVerdicts(url, &env, func(c *compiled) bool { return appliesAt(stage, c.Stage) })
}

// Refusal says why rules with these verdicts refuse a URL. The verdicts are those of Explain.
func Refusal(verdicts []Verdict) string {
	excluding := map[int]bool{} // groups of exclude rules: all match
	for _, v := range verdicts {
		switch {
		case !v.Applies:
		case v.Effect == excludes && v.Rule.Group != 0:
			all, known := excluding[v.Rule.Group]
			excluding[v.Rule.Group] = v.Matches && (all || !known)
		case v.Effect == condition && !v.Matches && strings.Contains(v.Rule.Pattern, "%MAX_DEPTH%"):
			return fmt.Sprintf("it is deeper than the limit %s", v.Rule.Subject)
		case v.Effect == condition && !v.Matches:
			return fmt.Sprintf("a condition does not hold: %s and %s, operation %d", v.Rule.Subject, v.Rule.Pattern, v.Rule.OpCode)
		case v.Effect == excludes && v.Matches:
			return "an exclude rule matches: " + v.Rule.Pattern
		}
	}
	for group, all := range excluding {
		if all {
			return fmt.Sprintf("all exclude rules of group %d match", group)
		}
	}
	return "no include rule matches"
}

// ExplainSubject is Explain for AcceptSubject.
func (s *Set) ExplainSubject(stage int, subject, value string, env Env) ([]Verdict, bool) {
	return s.explainVerdicts(value, &env, rulesOnSubject(stage, subject))
}

// ExplainSQL is Explain for AcceptSQL.
func (s *Set) ExplainSQL(stage int, env Env) ([]Verdict, bool) {
	return s.explainVerdicts("", &env, rulesOnSQL(stage))
}

func (s *Set) explainVerdicts(value string, env *Env, applies func(*compiled) bool) ([]Verdict, bool) {
	if s == nil {
		return nil, true
	}
	verdicts := make([]Verdict, len(s.rules))
	for i := range s.rules {
		c := &s.rules[i]
		v := Verdict{Rule: c.Rule, Effect: c.effect, Applies: applies(c) && c.Mode == env.Mode && (c.OpCode != OpSQL || env.SQL != nil)}
		if c.broken {
			v.Effect = "broken"
		}
		v.Matches = v.Applies && c.matchesRule(value, env)
		verdicts[i] = v
	}
	return verdicts, s.acceptsValue(value, env, applies)
}
