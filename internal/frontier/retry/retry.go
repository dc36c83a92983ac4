// Package retry decides when a URL is asked again whose answer means "later": the server is busy,
// broken for a moment, or the connection broke. One table has a rule for each cause.
//
//	table := retry.Default(time.Second)
//	rule := table[retry.Busy]                 // attempts, pause, whose pause
//	pause := rule.Wait(1, 0, rand.Float64())  // after the first answer
//
// It is pure arithmetic: no clock, no file, no network. The rows of the repository keep how often a
// URL was asked and when it may be asked again; package hostgate keeps the pauses of hosts.
// docs/properties.md describes the property RETRY.
package retry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire/prop"
)

// Cause says why a URL is asked again. It is a name in the table, in rows and in the property RETRY.
type Cause string

// The causes without an HTTP code. Those with one are its number, or 52x.
const (
	Cut     Cause = "cut"     // the connection ended within the body
	Reset   Cause = "reset"   // the connection ended before an answer
	Connect Cause = "connect" // no connection to the host
	Timeout Cause = "timeout" // no connection, or no whole answer, in time
	DNS     Cause = "dns"     // the name server did not answer, or with SERVFAIL
	Robots  Cause = "robots"  // robots.txt has the code 429 or 5xx

	// Host is the cause of rows that only wait because their host has a pause. It has no rule.
	Host Cause = "host"
)

// Rule says how often and when a URL is asked.
type Rule struct {
	Attempts int           // requests of a URL, the first one included; 1: it is not asked again
	Pause    time.Duration // after the first answer; it doubles with each one
	Longest  time.Duration // bound of the doubled pause
	Asked    time.Duration // bound of a Retry-After
	// Host is the number of such answers in a row from which the pause holds for all URLs of the
	// host. 1: from the first one; 0: never.
	Host int
}

// Table has the rules by cause. A cause without a rule is not asked again.
type Table map[Cause]Rule

// LongestAsked bounds Retry-After, as Crawl-delay is bounded.
const LongestAsked = 24 * time.Hour

// HostPatience is how many answers in a row may ask for a pause of a host. After more of them its
// URLs are asked once each, with short pauses, until one gets another answer. So the crawl of a
// host that stays busy ends, and no URL is given up without a request.
const HostPatience = 10

// times bounds the doubled pause, as a multiple of the first one.
const times = 64

// Default returns the table of sites without RETRY. pause is the first pause after most answers.
func Default(pause time.Duration) Table {
	rule := func(attempts, first, host int) Rule {
		return Rule{Attempts: attempts, Pause: pause * time.Duration(first), Longest: times * pause, Asked: LongestAsked, Host: host}
	}
	return Table{
		"429": rule(6, 1, 1), "503": rule(6, 1, 1),
		"408": rule(4, 1, 4), "500": rule(3, 2, 0), "502": rule(4, 1, 4), "504": rule(4, 1, 4), "52x": rule(4, 1, 4),
		Cut: rule(4, 1, 0), Reset: rule(4, 1, 4), Connect: rule(3, 1, 2), Timeout: rule(3, 1, 1), DNS: rule(4, 2, 1),
		Robots: rule(6, 2, 1),
	}
}

// Once returns the table of a site whose URLs are asked once, as the specification says. Hosts that are
// busy get their pauses even then.
func (t Table) Once() Table {
	once := Table{}
	for _, cause := range []Cause{"429", "503", Timeout} {
		rule := t[cause]
		rule.Attempts = 1
		once[cause] = rule
	}
	return once
}

// OfCode returns the cause of an answer with an HTTP code; "" for other answers. 520 to 529 are codes
// of proxies in front of a server that is away or overloaded.
func OfCode(code int) Cause {
	switch code {
	case 408, 429, 500, 502, 503, 504:
		return Cause(strconv.Itoa(code))
	}
	if code/10 == 52 {
		return "52x"
	}
	return ""
}

// Wait returns the pause after the nth such answer in a row, n from 1. asked is that of a
// Retry-After, 0 for none. random is from 0 to below 1: it spreads own pauses by a quarter in both
// directions, and makes asked ones up to a tenth longer, never shorter.
func (r Rule) Wait(n int, asked time.Duration, random float64) time.Duration {
	if asked > 0 {
		return min(time.Duration(float64(min(asked, r.Asked))*(1+random/10)), LongestAsked)
	}
	own := r.Longest
	if n <= 30 && r.Pause < r.Longest>>(n-1) {
		own = r.Pause << (n - 1)
	}
	return time.Duration(float64(own) * (0.75 + random/2))
}

// HostWait returns the pause of a host after the nth such answer in a row. See HostPatience.
func (r Rule) HostWait(n int, asked time.Duration, random float64) time.Duration {
	if n > HostPatience {
		n = 1
	}
	return r.Wait(n, asked, random)
}

// HoldsHost reports whether the pause after the nth such answer of a host in a row holds the host.
func (r Rule) HoldsHost(n int) bool { return r.Host > 0 && n >= r.Host }

// mostAttempts bounds the counts in the property.
const mostAttempts = 1000

// ruleText is a rule of the property. Absent members keep the value of the table.
type ruleText struct {
	Attempts   *prop.Int   `json:"attempts"`
	Pause      *prop.Float `json:"pause"`      // seconds
	Longest    *prop.Float `json:"longest"`    // seconds
	RetryAfter *prop.Float `json:"retryAfter"` // seconds
	Host       *prop.Int   `json:"host"`
}

// Parse returns the table that the property RETRY makes of t: "0" asks once, "1" is t, an object
// changes rules by cause; "*" means all causes. The error names the first wrong part.
func (t Table) Parse(text string) (Table, error) {
	switch text = strings.TrimSpace(text); text {
	case "0":
		return t.Once(), nil
	case "", "1":
		return t, nil
	}
	var given map[Cause]json.RawMessage
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return nil, fmt.Errorf(`is %q; expected 0, 1 or an object such as {"503": {"attempts": 8}}`, prop.Clip(text))
	}
	table := maps.Clone(t)
	for _, cause := range slices.Sorted(maps.Keys(given)) { // "*" is first
		causes := []Cause{cause}
		if cause == "*" {
			causes = slices.Collect(maps.Keys(t))
		}
		for _, c := range causes {
			rule, known := table[c]
			if !known {
				return nil, fmt.Errorf("has the cause %q; expected one of %s or *", prop.Clip(string(c)), t.causeNames())
			}
			changed, err := rule.withChanges(given[cause])
			if err != nil {
				return nil, fmt.Errorf("has for %s %w", cause, err)
			}
			table[c] = changed
		}
	}
	return table, nil
}

// causeNames lists the causes.
func (t Table) causeNames() string {
	var list []string
	for _, cause := range slices.Sorted(maps.Keys(t)) {
		list = append(list, string(cause))
	}
	return strings.Join(list, ", ")
}

// withChanges returns the rule with the members of text.
func (r Rule) withChanges(text json.RawMessage) (Rule, error) {
	var set ruleText
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&set); err != nil {
		return r, fmt.Errorf("%q; expected members attempts, pause, longest, retryAfter and host, all numbers", prop.Clip(string(text)))
	}
	return r, cmp.Or(
		setCount(&r.Attempts, "attempts", set.Attempts, 1), setCount(&r.Host, "host", set.Host, 0),
		setSeconds(&r.Pause, "pause", set.Pause), setSeconds(&r.Longest, "longest", set.Longest), setSeconds(&r.Asked, "retryAfter", set.RetryAfter),
	)
}

func setCount(target *int, name string, value *prop.Int, least prop.Int) error {
	if value == nil {
		return nil
	}
	if *value < least || *value > mostAttempts {
		return fmt.Errorf("%s %d; expected %d to %d", name, *value, least, mostAttempts)
	}
	*target = int(*value)
	return nil
}

func setSeconds(target *time.Duration, name string, value *prop.Float) error {
	if value == nil {
		return nil
	}
	seconds := float64(*value)
	if !(seconds >= 0 && seconds <= LongestAsked.Seconds()) {
		return fmt.Errorf("%s %v; expected 0 to %v seconds", name, seconds, LongestAsked.Seconds())
	}
	*target = time.Duration(seconds * float64(time.Second))
	return nil
}
