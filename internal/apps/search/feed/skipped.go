package feed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/wire"
)

// Skipped are crawled URLs that are not in the index for one reason.
type Skipped struct {
	Reason string
	Count  int
	URLs   []string // the first of them
}

// String returns one line for a person.
func (s Skipped) String() string {
	text := fmt.Sprintf("%d not indexed: %s: %s", s.Count, s.Reason, strings.Join(s.URLs, " "))
	if s.Count > len(s.URLs) {
		text += " ..."
	}
	return text
}

// damagedReason is that of a page whose stored content is damaged. The index keeps its older document.
const damagedReason = "their stored content is damaged; make it again with db-task --repair or hce repair"

// Damaged returns how many pages the last round has skipped because their stored content is damaged.
func (f *Feed) Damaged() int {
	for _, s := range f.skipped {
		if s.Reason == damagedReason {
			return s.Count
		}
	}
	return 0
}

// namedSkipped is how many URLs are named for each reason.
const namedSkipped = 3

// countSkipped counts a URL that is not indexed.
func (f *Feed) countSkipped(reason, url string) {
	i := slices.IndexFunc(f.skipped, func(s Skipped) bool { return s.Reason == reason })
	if i < 0 {
		i = len(f.skipped)
		f.skipped = append(f.skipped, Skipped{Reason: reason})
	}
	one := &f.skipped[i]
	if one.Count++; len(one.URLs) < namedSkipped {
		one.URLs = append(one.URLs, url)
	}
}

// skipRow counts a crawled row that is not usable.
func (f *Feed) skipRow(row *wire.URL, now time.Time) {
	if isCrawled(row) {
		f.countSkipped(unusableReason(row, now), row.URL)
	}
}

// Skipped returns what the last round has read and not indexed.
func (f *Feed) Skipped() []Skipped { return f.skipped }
