package headerrotation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"

	"hce/dc/internal/crawl/statefile"
)

const (
	// maxPlaces limits the pairs of domain and site in memory if there are no files.
	maxPlaces = 10_000

	// maxKept limits the values of a header in a file. Above it, recently unused values are
	// removed.
	maxKept = 2 * maxValues
)

// Options of a Rotator. The zero value counts in memory only.
type Options struct {
	Dir string       // header_file_dir, or "" for counts in memory only
	Log *slog.Logger // nil is slog.Default
}

// Rotator chooses values and counts their uses. Goroutines may share it.
type Rotator struct {
	dir   string
	dry   bool // Save does nothing
	log   *slog.Logger
	files statefile.Files

	saving sync.Mutex // one Save at a time
	mu     sync.Mutex
	places map[place]*uses
}

// place is a pair with its own counts.
type place struct{ domain, site string }

// uses are the counts of one place.
type uses struct {
	total counts // all known uses
	fresh counts // uses that are not in the file
	used  bool   // since the last Save
}

// counts is the content of a file: uses by name and value.
type counts map[string]map[string]int64

// New returns a Rotator. Files are created by the first Save.
func New(o Options) *Rotator {
	o.Log = cmp.Or(o.Log, slog.Default())
	return &Rotator{dir: o.Dir, log: o.Log, files: statefile.Files{Log: o.Log}, places: make(map[place]*uses)}
}

// Headers returns the headers of rule for one request of site to domain, in the order of
// the rule. Of several values it chooses the least used one, the first of equals, and
// counts the use. A file list that was not resolved gives no header.
func (r *Rotator) Headers(rule Rule, site, domain string) []Header {
	var list []Header
	for _, f := range rule.fields {
		switch {
		case len(f.values) == 1:
			list = append(list, Header{f.name, f.values[0]})
		case len(f.values) > 1:
			list = append(list, Header{f.name, r.pickValue(f, place{domain, site})})
		}
	}
	return list
}

// pickValue chooses a value of f and counts the use.
func (r *Rotator) pickValue(f field, p place) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.usesOf(p)
	u.used = true
	best, least := f.values[0], int64(math.MaxInt64)
	total := u.total[f.name]
	for _, v := range f.values {
		if n := total[v]; n < least {
			best, least = v, n
		}
	}
	countUse(u.total, f.name, best, 1)
	if r.dir != "" {
		countUse(u.fresh, f.name, best, 1)
	}
	return best
}

// usesOf returns the uses of a place. It reads the file if they are not in memory.
func (r *Rotator) usesOf(p place) *uses {
	if u := r.places[p]; u != nil {
		return u
	}
	if r.dir == "" {
		r.makeRoom()
	}
	u := &uses{total: r.readCounts(p), fresh: make(counts)}
	r.places[p] = u
	return u
}

// makeRoom drops arbitrary places above the limit. Their counts start at zero again.
func (r *Rotator) makeRoom() {
	for p := range r.places {
		if len(r.places) < maxPlaces {
			return
		}
		delete(r.places, p)
	}
}

// readCounts returns the content of the file of p. A read error is logged, and the counts start
// at zero.
func (r *Rotator) readCounts(p place) counts {
	if r.dir == "" {
		return make(counts)
	}
	var known counts
	if err := r.files.Read(r.countsPath(p), &known); err != nil {
		r.log.Warn("cannot read the uses of header values; counts start at zero", "site", p.site, "domain", p.domain, "error", err)
	}
	return copyOf(known)
}

func (r *Rotator) countsPath(p place) string {
	return filepath.Join(r.dir, statefile.Name(p.domain), statefile.Name(p.site)+".json")
}

// Save adds the uses since the last Save to the files, reads what other processes have
// counted, and drops places without uses since then. The next Save retries what failed.
// Errors are joined.
func (r *Rotator) Save(ctx context.Context) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if r.dir == "" || r.dry {
		return nil
	}
	var errs []error
	for p, fresh := range r.takeFresh() {
		if err := r.saveCounts(ctx, p, fresh); err != nil {
			errs = append(errs, fmt.Errorf("save header uses of site %q, domain %q: %w", p.site, p.domain, err))
		}
	}
	return errors.Join(errs...)
}

// Unsaved returns a Rotator that starts with the content of the files and never saves.
func (r *Rotator) Unsaved() *Rotator {
	other := New(Options{Dir: r.dir, Log: r.log})
	other.dry = true
	return other
}

// Close calls Save a last time.
func (r *Rotator) Close() error { return r.Save(context.Background()) }

// takeFresh returns and clears the unsaved uses. It drops places without uses.
func (r *Rotator) takeFresh() map[place]counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[place]counts)
	for p, u := range r.places {
		switch {
		case len(u.fresh) > 0:
			all[p] = u.fresh
			u.fresh = make(counts)
		case !u.used:
			delete(r.places, p)
		}
		u.used = false
	}
	return all
}

// saveCounts adds fresh to the file of p.
func (r *Rotator) saveCounts(ctx context.Context, p place, fresh counts) error {
	var known counts
	err := r.files.Update(ctx, r.countsPath(p), &known, func() error {
		if known == nil {
			known = make(counts)
		}
		addCounts(known, fresh)
		for name, values := range fresh {
			pruneValues(known[name], values)
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.places[p] // only takeFresh drops it, and not while saving is locked
	if err != nil {
		addCounts(u.fresh, fresh)
		return err
	}
	u.total = copyOf(known)
	addCounts(u.total, u.fresh) // uses during the save
	return nil
}

// addCounts adds the uses of more to c.
func addCounts(c, more counts) {
	for name, values := range more {
		for v, n := range values {
			countUse(c, name, v, n)
		}
	}
}

// countUse adds n uses. Counts in files may have any size or be negative.
func countUse(c counts, name, value string, n int64) {
	if c[name] == nil {
		c[name] = make(map[string]int64)
	}
	n = max(n, 0)
	c[name][value] = min(max(c[name][value], 0), math.MaxInt64-n) + n
}

// pruneValues limits the values of a header in a file, which grow with each change of the
// property.
func pruneValues(values, fresh map[string]int64) {
	for v := range values {
		if len(values) <= maxKept {
			return
		}
		if fresh[v] == 0 {
			delete(values, v)
		}
	}
}

// copyOf returns a deep copy of c.
func copyOf(c counts) counts {
	all := make(counts, len(c))
	addCounts(all, c)
	return all
}
