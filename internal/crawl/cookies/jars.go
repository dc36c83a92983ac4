package cookies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/crawl/statefile"
)

// Options of Jars. The zero value is ready.
type Options struct {
	Log *slog.Logger     // nil is slog.Default
	Now func() time.Time // nil is time.Now
}

// Jars holds the jars of all sites of a batch. Goroutines may share it. It keeps every jar
// that Site returned, so use a new one for each batch.
type Jars struct {
	dir   string
	now   func() time.Time
	log   *slog.Logger
	files statefile.Files

	saving sync.Mutex // one Save at a time
	mu     sync.Mutex
	bySite map[string]*Jar
}

// Open returns the jars of dir, which is created with the first file. An empty dir keeps
// them in memory only.
func Open(dir string, o Options) *Jars {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return &Jars{dir: dir, now: o.Now, log: o.Log, files: statefile.Files{Log: o.Log}, bySite: make(map[string]*Jar)}
}

// Site returns the jar of a site, always the same one. The first call reads its file. If
// that fails, the error is logged and the jar starts empty.
func (js *Jars) Site(id string) *Jar {
	js.mu.Lock()
	defer js.mu.Unlock()
	if j := js.bySite[id]; j != nil {
		return j
	}
	j := newJar()
	js.bySite[id] = j
	if js.dir == "" {
		return j
	}
	var f jarFile
	if err := js.files.Read(js.jarPath(id), &f); err != nil {
		js.log.Warn("cannot read the cookies of a site; its jar starts empty", "site", id, "error", err)
		return j
	}
	j.mergeFile(f, js.now())
	return j
}

// jarFile is the file of a jar.
type jarFile struct {
	Cookies []cookie `json:"cookies"`
}

func (js *Jars) jarPath(id string) string {
	return filepath.Join(js.dir, statefile.Name(id)+".json")
}

// Save merges the changes since the last Save into the files of the sites, and reads what
// other processes have set. The next Save retries what failed. The error joins those of all
// sites.
func (js *Jars) Save(ctx context.Context) error {
	js.saving.Lock()
	defer js.saving.Unlock()
	if js.dir == "" {
		return nil
	}
	js.mu.Lock()
	jars := maps.Clone(js.bySite)
	js.mu.Unlock()
	var errs []error
	for id, j := range jars {
		if err := js.saveJar(ctx, id, j); err != nil {
			errs = append(errs, fmt.Errorf("save cookies of site %q: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

func (js *Jars) saveJar(ctx context.Context, id string, j *Jar) error {
	changed := j.takeChanged()
	if len(changed) == 0 {
		return nil
	}
	var f jarFile
	err := js.files.Update(ctx, js.jarPath(id), &f, func() error {
		now := js.now()
		merged := newJar()
		merged.mergeFile(f, now)
		for _, c := range changed {
			merged.mergeCookie(c, false)
		}
		merged.enforceLimits(now)
		f = merged.fileContent(now)
		return nil
	})
	if err != nil {
		j.markChanged(changed)
		return err
	}
	j.mergeFile(f, js.now())
	return nil
}

// mergeFile merges the cookies of a file. If both were set at the same time, the one in
// memory wins.
func (j *Jar) mergeFile(f jarFile, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range f.Cookies {
		if c.isValid(now) {
			j.mergeCookie(c, true)
		}
	}
	j.enforceLimits(now)
}

// fileContent returns the content of the jar's file, without expired cookies, in a stable order.
func (j *Jar) fileContent(now time.Time) jarFile {
	f := jarFile{Cookies: []cookie{}}
	for _, c := range j.cookies {
		if c.Expires.After(now) {
			f.Cookies = append(f.Cookies, *c)
		}
	}
	slices.SortFunc(f.Cookies, func(a, b cookie) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name), a.Set.Compare(b.Set))
	})
	return f
}

// takeChanged returns the changed cookies and clears their marks.
func (j *Jar) takeChanged() []cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []cookie
	for k := range j.changed {
		if c := j.cookies[k]; c != nil {
			list = append(list, *c)
		}
	}
	clear(j.changed)
	return list
}

// markChanged marks cookies again that could not be saved.
func (j *Jar) markChanged(list []cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range list {
		if k := c.key(); j.cookies[k] != nil {
			j.changed[k] = true
		}
	}
}
