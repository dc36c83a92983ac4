package command

import (
	"strconv"
	"strings"
	"time"
)

// Time describes an option that is a time, such as 500ms, 2s or 1h30m.
type Time struct {
	Option      string        // with its dashes, for messages
	Least, Most time.Duration // both are allowed
	// Bare is the unit of a number without one, as the option had it always; 0: such a number is refused.
	Bare time.Duration
}

// Parse reads the value of the option. Its error is a Refusal.
func (t Time) Parse(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, numberErr := strconv.ParseFloat(text, 64); numberErr == nil && strings.Trim(text, "0123456789.") == "" {
		if t.Bare == 0 {
			return 0, Refuse("%s %q has no unit; write %sms or %ss", t.Option, text, text, text)
		}
		if err = nil; n > float64(t.Most)/float64(t.Bare) {
			d = t.Most + 1 // a larger number does not fit
		} else {
			d = time.Duration(n * float64(t.Bare))
		}
	}
	if err != nil || d < t.Least || d > t.Most {
		return 0, Refuse("%s %q is not a time from %s to %s%s", t.Option, text, timeText(t.Least), timeText(t.Most), t.exampleText())
	}
	return d, nil
}

func (t Time) exampleText() string {
	if t.Bare == 0 {
		return ", such as 500ms or 2s"
	}
	return ", such as 500ms or 2s; a number without a unit counts " + map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds"}[t.Bare]
}

// timeText is a time without parts that are 0.
func timeText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
