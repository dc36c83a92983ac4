package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/wire/prop"
)

// renewAfter is the age at which a count restarts, so that a burst does not postpone
// requests for ever.
const renewAfter = time.Hour

// Options of a Limiter. The zero value is ready.
type Options struct {
	Log    *slog.Logger     // nil is slog.Default
	Now    func() time.Time // nil is time.Now
	Random func(n int) int  // returns 0 to n-1; nil is math/rand

	ReadOnly bool // decide about requests without counting them
}

// Limiter counts requests in files. Goroutines may share it.
type Limiter struct {
	limits Limits
	folder string
	files  statefile.Files
	now    func() time.Time
	random func(n int) int
}

// Answer is the decision about a request.
type Answer struct {
	Stop bool          // postpone it: the URL is New again, with bit 49
	Wait time.Duration // otherwise the wait before it; at most an hour
}

// state is the file of a domain and site.
type state struct {
	Start prop.Float `json:"start"` // seconds since 1970
	Count prop.Int   `json:"count"`
}

// Open returns the Limiter of limits, with files in the folder PATH_CONFIG below base,
// which the operator has configured. If PATH_CONFIG leads out of base, the Limiter uses
// base and is still valid. The error then is meant to follow "property HTTP_FREQ_LIMITS ".
func Open(limits Limits, base string, o Options) (*Limiter, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.IntN
	}
	folder, err := statefile.Below(base, limits.folder)
	if err != nil {
		folder, err = base, fmt.Errorf("has in %s the path %w", pathConfig, err)
	}
	return &Limiter{limits, folder, statefile.Files{Log: o.Log, ReadOnly: o.ReadOnly}, o.Now, o.Random}, err
}

// Ask counts a request of site to host and decides about it. It stops the request if the
// average rate of the earlier requests exceeds max_freq; less than a second counts as a
// second. Otherwise the wait is max_delay less the average gap, plus 1 to max_delay seconds
// if randomized. A wait below 1 second or above max_delay is dropped. Postponed requests
// count too. Counts restart after an hour, or if their start is in the future. A host
// without a rule is not counted.
//
// If the error is not nil, the request may be sent.
func (l *Limiter) Ask(ctx context.Context, site, host string) (Answer, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	r, found := l.limits.findRule(host)
	if !found {
		return Answer{}, nil
	}
	if l.folder == "" {
		return Answer{}, errors.New("count requests: no folder is configured")
	}
	path := filepath.Join(l.folder, statefile.Name(host), "http_freq_limits_"+statefile.Name(site)+".json")
	var s state
	var answer Answer
	err := l.files.Update(ctx, path, &s, func() error {
		now := float64(l.now().UnixMilli()) / 1000
		if elapsed := now - float64(s.Start); elapsed < 0 || elapsed >= renewAfter.Seconds() || s.Count < 0 {
			s = state{Start: prop.Float(now)}
		}
		answer = r.decideAnswer(now-float64(s.Start), float64(s.Count), l.random)
		s.Count = min(s.Count, math.MaxInt64-1) + 1
		return nil
	})
	if err != nil {
		return Answer{}, fmt.Errorf("count requests of site %q to host %q: %w", site, host, err)
	}
	return answer, nil
}

// decideAnswer returns the answer after count requests in elapsed seconds.
func (r rule) decideAnswer(elapsed, count float64, random func(n int) int) Answer {
	if count == 0 {
		return Answer{}
	}
	if r.maxFreq > 0 && count/max(elapsed, 1) > r.maxFreq {
		return Answer{Stop: true}
	}
	wait := r.maxDelay - elapsed/count
	if most := int(r.maxDelay); r.randomized && most >= 1 {
		wait += float64(1 + random(most))
	}
	if wait < 1 || wait > r.maxDelay {
		return Answer{}
	}
	return Answer{Wait: time.Duration(wait * float64(time.Second))}
}
