package filter

// Verdict is what one rule says of a value, for people who ask why.
type Verdict struct {
	Rule    Rule
	Applies bool   // its stage and mode are asked
	Effect  string // "include", "exclude" or "condition"; "broken" when it cannot work
	Matches bool   // false for a rule that does not apply
}

// Explain asks each rule that is on about url at the stage, in their order, and
// gives the answer of Accept beside.
func (s *Set) Explain(stage int, url string, env Env) ([]Verdict, bool) {
	if s == nil {
		return nil, true
	}
	verdicts := make([]Verdict, len(s.rules))
	for i := range s.rules {
		c := &s.rules[i]
		v := Verdict{Rule: c.Rule, Applies: asked(stage, c.Stage) && c.Mode == env.Mode && (c.OpCode != OpSQL || env.SQL != nil)}
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
