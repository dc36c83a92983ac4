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

// pathConfig is the member of the property that is not a domain.
const pathConfig = "PATH_CONFIG"

// Limits is a value of HTTP_FREQ_LIMITS. The zero value limits nothing.
type Limits struct {
	rules  []rule
	folder string // PATH_CONFIG
}

// rule is the limit of the domains that it matches.
type rule struct {
	domain     *pyregexp.Regexp
	maxFreq    float64 // requests per second; 0: no limit
	maxDelay   float64 // seconds; 0: no wait
	randomized bool
}

// Parse parses {"domainRegex": {"max_freq": requests per second, "max_delay": seconds,
// "randomized": 0/1}, "PATH_CONFIG": folder}. The first expression, in the order of the
// text, that matches at the start of a host decides. Expressions have no look-around and no
// back-references. A value of 0 or a missing one sets no limit; a delay above an hour
// counts as an hour. Errors are meant to follow "property HTTP_FREQ_LIMITS ".
func Parse(text string) (Limits, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return Limits{}, err
	}
	if len(members) > maxRules {
		return Limits{}, fmt.Errorf("has %d domains; expected at most %d", len(members), maxRules)
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
			err = l.addLimit(m.Name, m.Value)
		}
		if err != nil {
			return Limits{}, fmt.Errorf("at %q %w", prop.Clip(m.Name), err)
		}
	}
	return l, nil
}

func (l *Limits) addLimit(domain string, raw json.RawMessage) error {
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
		return fmt.Errorf("is not a regular expression: %w", err)
	}
	l.rules = append(l.rules, rule{re, float64(v.MaxFreq), min(float64(v.MaxDelay), maxDelay.Seconds()), bool(v.Randomized)})
	return nil
}

// findRule returns the rule for a host.
func (l Limits) findRule(host string) (rule, bool) {
	for _, r := range l.rules {
		if r.domain.MatchStart(host) {
			return r, true
		}
	}
	return rule{}, false
}
