package quota

import (
	"context"
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

// renewAfter is the age at which a count begins anew, so that a burst does not
// put requests off for ever.
const renewAfter = time.Hour

// Options of a Limiter. The zero value is ready.
type Options struct {
	Log    *slog.Logger     // nil is slog.Default
	Now    func() time.Time // nil is time.Now
	Random func(n int) int  // nil is math/rand; a number from 0 up to n, without n

	ReadOnly bool // requests are judged and not counted
}

// Limiter counts requests in files. Any number of goroutines may share it.
type Limiter struct {
	limits Limits
	folder string
	files  statefile.Files
	now    func() time.Time
	random func(n int) int
}

// Answer says whether a request may go.
type Answer struct {
	Stop bool          // put it off: its URL is New again, with bit 49
	Wait time.Duration // else, how long to wait before it; at most an hour
}

// state is the file of a domain and site.
type state struct {
	Start prop.Float `json:"start"` // seconds since 1970
	Count prop.Int   `json:"count"`
}

// Open returns the Limiter of limits, with files below the folder base, which the
// operator chose, at PATH_CONFIG. A PATH_CONFIG that leads out of base is not
// followed: the error says so, reads well after "property HTTP_FREQ_LIMITS ", and
// the Limiter, which works all the same, keeps its files in base itself.
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

// Ask counts a request of site to host and says whether it may go. It stops when
// the average of the requests before it is above max_freq, where less than a
// second counts as a second. Else it waits so long that max_delay is over since
// the average gap, with randomized 1 to max_delay seconds more, but not at all
// when that is not within 1 second and max_delay. Requests that are put off count
// too. Counts begin anew after an hour, and when their start lies ahead of the
// clock. A host without a rule is not counted.
//
// With an error, of the file or of ctx, the answer is that the request may go.
func (l *Limiter) Ask(ctx context.Context, site, host string) (Answer, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	r, found := l.limits.find(host)
	if !found {
		return Answer{}, nil
	}
	if l.folder == "" {
		return Answer{}, fmt.Errorf("freq.Ask: no folder for the counts is configured")
	}
	path := filepath.Join(l.folder, statefile.Name(host), "http_freq_limits_"+statefile.Name(site)+".json")
	var s state
	var answer Answer
	err := l.files.Update(ctx, path, &s, func() error {
		now := float64(l.now().UnixMilli()) / 1000
		if elapsed := now - float64(s.Start); elapsed < 0 || elapsed >= renewAfter.Seconds() || s.Count < 0 {
			s = state{Start: prop.Float(now)}
		}
		answer = r.judge(now-float64(s.Start), float64(s.Count), l.random)
		s.Count = min(s.Count, math.MaxInt64-1) + 1
		return nil
	})
	if err != nil {
		return Answer{}, fmt.Errorf("freq.Ask: site %q, host %q: %w", site, host, err)
	}
	return answer, nil
}

// judge decides after elapsed seconds with count requests.
func (r rule) judge(elapsed, count float64, random func(n int) int) Answer {
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
