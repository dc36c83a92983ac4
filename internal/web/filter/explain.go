package filter

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
	if s == nil {
		return nil, true
	}
	verdicts := make([]Verdict, len(s.rules))
	for i := range s.rules {
		c := &s.rules[i]
		v := Verdict{Rule: c.Rule, Applies: appliesAt(stage, c.Stage) && c.Mode == env.Mode && (c.OpCode != OpSQL || env.SQL != nil)}
		switch {
		case c.broken:
			v.Effect = "broken"
		case c.condition:
			v.Effect = "condition"
		case c.include:
			v.Effect = "include"
		default:
			v.Effect = "exclude"
		}
		v.Matches = v.Applies && c.match(url, &env)
		verdicts[i] = v
	}
	return verdicts, s.Accept(stage, url, env)
}
