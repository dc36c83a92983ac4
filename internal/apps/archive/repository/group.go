package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/pagexml"
)

// mostGrouped is the most additions of one commit.
const mostGrouped = 500

// A commit with company waits for more of it: until none came for gatherPause, and at most gatherTime.
const (
	gatherPause = 10 * time.Millisecond
	gatherTime  = 100 * time.Millisecond
)

// addition is a new file or node of a client.
type addition struct {
	meta    archive.Meta
	name    string
	from    string // file with the bytes; "" for a node
	content string // XML of a node
	done    chan error
}

// groups has the additions that wait, by domain. While a commit of a domain is made, further additions
// wait, and share the next one: a commit of git costs much more than a file in it.
type groups struct {
	mu      sync.Mutex
	waiting map[string][]*addition // with an entry for each domain that a goroutine commits
}

// submitAddition stores an addition, together with others that come at the same time. If ctx is done while it
// waits, it is not stored; a commit that has begun is awaited.
func (r *Repository) submitAddition(ctx context.Context, domain string, a *addition) error {
	a.done = make(chan error, 1)
	r.groups.mu.Lock()
	if r.groups.waiting == nil {
		r.groups.waiting = map[string][]*addition{}
	}
	list, running := r.groups.waiting[domain]
	r.groups.waiting[domain] = append(list, a)
	r.groups.mu.Unlock()
	if !running {
		go r.commitGroups(domain) // ends when none waits
	}
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
	}
	if r.groups.withdrawAddition(domain, a) {
		return ctx.Err()
	}
	return <-a.done
}

// withdrawAddition removes an addition, unless it is taken.
func (g *groups) withdrawAddition(domain string, a *addition) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting[domain], a)
	if i < 0 {
		return false
	}
	g.waiting[domain] = slices.Delete(g.waiting[domain], i, i+1)
	return true
}

// takeAdditions removes the additions of one commit. Without any, the domain has no goroutine from now on.
func (g *groups) takeAdditions(domain string) []*addition {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.waiting[domain]
	n := min(len(list), mostGrouped)
	if g.waiting[domain] = slices.Clone(list[n:]); n == 0 {
		delete(g.waiting, domain)
	}
	return list[:n]
}

// gatherAdditions waits while additions come in.
func (g *groups) gatherAdditions(domain string) {
	for began, seen := time.Now(), -1; time.Since(began) < gatherTime; time.Sleep(gatherPause) {
		g.mu.Lock()
		now := len(g.waiting[domain])
		g.mu.Unlock()
		if now == seen {
			return
		}
		seen = now
	}
}

// commitGroups commits the additions of a domain until none waits.
func (r *Repository) commitGroups(domain string) {
	ctx := context.Background() // the additions have different ones
	company := false
	for {
		if company {
			r.groups.gatherAdditions(domain)
		}
		d, unlock, err := r.lockDomain(ctx, domain)
		list := r.groups.takeAdditions(domain)
		company = len(list) > 1
		if err == nil {
			if len(list) > 0 {
				r.commitGroup(ctx, d, list)
			}
			unlock()
		}
		for _, a := range list {
			if err != nil {
				a.done <- err
			}
		}
		if len(list) == 0 {
			return
		}
	}
}

// commitGroup makes one commit of all additions that are allowed, and answers each.
func (r *Repository) commitGroup(ctx context.Context, d *domain, list []*addition) {
	c := change{d: d, names: map[string][]string{}, texts: map[string][]byte{}}
	var accepted []*addition
	for _, a := range list {
		if err := c.addAddition(ctx, a); err != nil {
			a.done <- err
			continue
		}
		accepted = append(accepted, a)
	}
	var err error
	if len(accepted) > 0 {
		err = d.addFiles(ctx, c.sourceList())
	}
	for _, a := range accepted {
		a.done <- err
	}
	if len(accepted) > 1 {
		_, err := d.git.runCommand(ctx, []*os.File{d.guard}, nil, "gc", "--auto", "--quiet")
		if err != nil {
			r.Log.Warn("git gc", "op", "add", "domain", d.name, "error", err)
		}
	}
}

// change is what a commit adds to the current version.
type change struct {
	d     *domain
	files []source
	names map[string][]string // of all files, those of the commit included, by folder
	texts map[string][]byte   // the changed data.xml, by name
}

func (c *change) sourceList() []source {
	list := c.files
	for _, name := range slices.Sorted(maps.Keys(c.texts)) {
		list = append(list, source{name: name, text: c.texts[name]})
	}
	return list
}

// addAddition checks an addition and adds it.
func (c *change) addAddition(ctx context.Context, a *addition) error {
	meta, err := c.d.r.catalog.Page(ctx, a.meta.URL, a.meta.CommitTag)
	if err != nil {
		return err
	}
	p := place{meta: meta}
	if c.d.tip.tag != meta.CommitTag {
		return outdatedError(a.meta)
	}
	if err := p.locateFolder(ctx, c.d); err != nil {
		return err
	}
	if a.from == "" {
		return c.addNode(ctx, p, a)
	}
	names, known := c.names[p.folder]
	if !known {
		if names, err = p.fileNames(c.d); err != nil {
			return err
		}
	}
	if err := isFree(names, a); err != nil {
		return err
	}
	c.names[p.folder] = append(names, a.name)
	c.files = append(c.files, source{name: p.folder + "/" + a.name, from: a.from})
	return nil
}

// fileNames returns the names of the files in the folder of a page of the current version.
func (p place) fileNames(d *domain) (names []string, err error) {
	list, err := listFiles(filepath.Join(d.dir, filepath.FromSlash(p.folder)))
	for _, o := range list {
		names = append(names, o.name)
	}
	return names, err
}

// isFree refuses a name that exists, in any case of letters, or that needs a folder that is a file.
func isFree(names []string, a *addition) error {
	lower := strings.ToLower(a.name)
	for _, name := range names {
		have := strings.ToLower(name)
		if have == lower || strings.HasPrefix(have, lower+"/") || strings.HasPrefix(lower, have+"/") {
			return fmt.Errorf("file %.300s of %s %w (%s)", a.name, a.meta.URL, archive.ErrExists, name)
		}
	}
	return nil
}

// addNode adds a node to the data.xml of a page. The schema of the archive gets the name first, so that each
// stored data.xml is valid.
func (c *change) addNode(ctx context.Context, p place, a *addition) error {
	name := p.folder + "/" + metaFile
	document, changed := c.texts[name]
	if !changed {
		file, err := p.openFile(ctx, c.d, metaFile)
		if err == nil {
			document, err = io.ReadAll(io.LimitReader(file, pagexml.MaxDocument+1))
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", metaFile, a.meta.URL, err)
		}
	}
	r := c.d.r
	longer, err := pagexml.Add(document, a.name, a.content)
	if err != nil {
		return r.logInvalid(a.meta, a.name, err)
	}
	schema, err := r.extendSchema(ctx, a.name)
	if err != nil {
		return err
	}
	r.step("schema")
	if err := pagexml.Validate(longer, schema); err != nil {
		return r.logInvalid(a.meta, a.name, err)
	}
	c.texts[name] = longer
	return nil
}
