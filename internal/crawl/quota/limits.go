package quota

import (
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

const (
	maxRules = 1000
	maxDelay = time.Hour
)

// pathConfig is the member of the property that is no domain.
const pathConfig = "PATH_CONFIG"

// Limits is a value of HTTP_FREQ_LIMITS. The zero value limits nothing.
type Limits struct {
	rules  []rule
	folder string // PATH_CONFIG
}

// rule is what holds for the domains that it matches.
type rule struct {
	domain     *pyregexp.Regexp
	maxFreq    float64 // requests per second; 0: no limit
	maxDelay   float64 // seconds; 0: no wait
	randomized bool
}

// Parse reads {"domainRegex": {"max_freq": requests per second, "max_delay":
// seconds, "randomized": 0/1}, "PATH_CONFIG": folder}. The first expression in
// the order of the text that matches at the start of a host decides. Expressions
// are of the linear kind: without look-around and back-references. What is 0 or
// not given limits nothing; a longer delay than an hour counts as an hour. Errors
// read well after "property HTTP_FREQ_LIMITS ".
func Parse(text string) (Limits, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return Limits{}, err
	}
	if len(members) > maxRules {
		return Limits{}, fmt.Errorf("has %d domains, where at most %d are accepted", len(members), maxRules)
	}
	var l Limits
	for _, m := range members {
		var err error
		if m.Name == pathConfig {
			if string(m.Value) == "null" {
				continue
			}
			l.folder, err = prop.Text(m.Value)
		} else {
			err = l.add(m.Name, m.Value)
		}
		if err != nil {
			return Limits{}, fmt.Errorf("at %q %w", clip(m.Name), err)
		}
	}
	return l, nil
}

func (l *Limits) add(domain string, raw json.RawMessage) error {
	var v struct {
		MaxFreq    prop.Float `json:"max_freq"`
		MaxDelay   prop.Float `json:"max_delay"`
		Randomized prop.Bool  `json:"randomized"`
	}
	if err := prop.Decode(string(raw), &v); err != nil {
		return err
	}
	if v.MaxFreq < 0 || v.MaxDelay < 0 {
		return fmt.Errorf("has a number below 0")
	}
	re, err := pyregexp.CompileFold(domain)
	if err != nil {
		return fmt.Errorf("is no regular expression: %w", err)
	}
	l.rules = append(l.rules, rule{re, float64(v.MaxFreq), min(float64(v.MaxDelay), maxDelay.Seconds()), bool(v.Randomized)})
	return nil
}

// find returns the rule for a host.
func (l Limits) find(host string) (rule, bool) {
	for _, r := range l.rules {
		if r.domain.MatchStart(host) {
			return r, true
		}
	}
	return rule{}, false
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
