package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/catalog"
	"hce/dc/internal/apps/archive/pagexml"
	"hce/dc/internal/files"
)

// ErrCrawled means that another crawl of a domain is under way.
var ErrCrawled = errors.New("is crawled by another process already")

// Page is a fetched page.
type Page struct {
	URL      string // canonical
	MIMEType string
	Title    string
	Created  time.Time
	Content  []byte // as received
}

// Crawl stages the pages of one crawl of a domain. One goroutine uses it, and ends it with Commit or
// Abort.
type Crawl struct {
	r      *Repository
	domain string
	start  time.Time
	tag    string
	dir    string // below tmp
	pages  map[string]archive.Meta
	closed bool
	close  func() error
}

// Begin starts a crawl of a domain: start, in whole seconds, is its commitTime, unless the domain has a
// version of that time or later. The error wraps ErrCrawled while another crawl of the domain is staged.
func (r *Repository) Begin(ctx context.Context, domain string, start time.Time) (*Crawl, error) {
	if err := CheckDomain(domain); err != nil {
		return nil, err
	}
	only, err := files.TryLockPID(r.lockFile(domain + ".crawl"))
	if errors.Is(err, files.ErrLocked) {
		return nil, fmt.Errorf("domain %s %w: %w", domain, ErrCrawled, err)
	}
	if err != nil {
		return nil, err
	}
	c := &Crawl{r: r, domain: domain, pages: map[string]archive.Meta{}}
	c.start, err = r.timeAfterNewest(ctx, domain, start)
	if err == nil {
		var remove func() error
		c.dir, remove, err = r.temporaryFolder(ctx)
		c.close = func() error {
			defer only()
			return remove()
		}
	}
	if err != nil {
		only()
		return nil, fmt.Errorf("begin crawl of %s: %w", domain, err)
	}
	c.tag = archive.Tag(domain, c.start)
	return c, nil
}

// timeAfterNewest returns start, or the second behind the newest version.
func (r *Repository) timeAfterNewest(ctx context.Context, domain string, start time.Time) (time.Time, error) {
	_, unlock, err := r.lockDomain(ctx, domain) // and repairs it: its rows are complete then
	if err != nil {
		return start, err
	}
	defer unlock()
	newest, found, err := r.catalog.Newest(ctx, domain)
	start = start.In(archive.Zone).Truncate(time.Second)
	if found && !start.After(newest.Time) {
		start = newest.Time.Add(time.Second)
	}
	return start, err
}

// Domain returns the domain that is crawled.
func (c *Crawl) Domain() string { return c.domain }

// Tag returns the commit tag of the crawl.
func (c *Crawl) Tag() string { return c.tag }

// Dir returns the temporary folder of the crawl.
func (c *Crawl) Dir() string { return c.dir }

// Add stages a page. A URL that comes again replaces its page.
func (c *Crawl) Add(p Page) error {
	domain, err := Domain(p.URL)
	if err != nil {
		return err
	}
	if domain != c.domain {
		return fmt.Errorf("page %.300s %w: it is not of %s", p.URL, archive.ErrInvalid, c.domain)
	}
	m := pagexml.Normal(archive.Meta{
		URL: p.URL, MIMEType: p.MIMEType, Title: p.Title, Domain: c.domain, CommitTime: c.start, CreateTime: p.Created, CommitTag: c.tag,
	})
	if m.URL != p.URL {
		return fmt.Errorf("URL %.300q %w: it has control characters", p.URL, archive.ErrInvalid)
	}
	if err := os.WriteFile(c.rawPath(p.URL), p.Content, 0o600); err != nil {
		return fmt.Errorf("stage page %.300s: %w", p.URL, err)
	}
	c.pages[p.URL] = m
	return nil
}

// Keep stages the content of an older version of a page that this crawl could not fetch, marked with the
// cause. old is of the newest version of the domain.
func (c *Crawl) Keep(ctx context.Context, old archive.Meta, cause string) error {
	file, err := c.r.Open(ctx, old, DataName(old.URL, old.MIMEType))
	if err != nil {
		return fmt.Errorf("keep page %.300s: %w; compare the archive with archive db check", old.URL, err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err == nil {
		err = os.WriteFile(c.rawPath(old.URL), content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep page %.300s: %w", old.URL, err)
	}
	m := old
	m.CommitTime, m.CommitTag, m.KeptFrom, m.KeptCause = c.start, c.tag, cmp.Or(old.KeptFrom, old.CommitTag), cause
	c.pages[old.URL] = pagexml.Normal(m)
	return nil
}

// rawPath is where the bytes of a page wait for their folder.
func (c *Crawl) rawPath(href string) string { return filepath.Join(c.dir, "raw-"+hashHex(href, 64)) }

// Abort forgets the crawl. It does nothing after Commit.
func (c *Crawl) Abort() error {
	if c.closed {
		return nil
	}
	c.closed = true
	return c.close()
}

// Commit makes the staged pages the newest version of the domain; pages that are not among them leave
// it, and stay in older versions. keep, if not nil, drops the pages for which it returns false. A crawl
// without pages is refused, so that a host that is down loses nothing. The crawl is closed in any case.
func (c *Crawl) Commit(ctx context.Context, keep func(archive.Meta) (bool, error)) (commit archive.Commit, err error) {
	defer func() { err = errors.Join(err, c.Abort()) }()
	list, err := c.movePages(keep)
	if err == nil && len(list) == 0 {
		err = errors.New("it has no page that is kept; the version before stays")
	}
	if err != nil {
		return commit, fmt.Errorf("commit %s: %w", c.tag, err)
	}
	c.r.step("staged")
	return c.commitTree(ctx, list)
}

// movePages moves each page that is kept into its own folder below dir/tree, with data.xml, and
// removes the others.
func (c *Crawl) movePages(keep func(archive.Meta) (bool, error)) (list []archive.Meta, err error) {
	urls := make([]string, 0, len(c.pages))
	for href := range c.pages {
		urls = append(urls, href)
	}
	slices.Sort(urls)
	names, err := Names(urls)
	if err != nil {
		return nil, err
	}
	for _, href := range urls {
		m := c.pages[href]
		m.Path = path.Join(contentFolder, c.domain, names[href])
		kept := true
		if keep != nil {
			if kept, err = keep(m); err != nil {
				return nil, err
			}
		}
		if !kept {
			if err := os.Remove(c.rawPath(href)); err != nil {
				return nil, err
			}
			continue
		}
		if err := c.createPlace(m, names[href]); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// createPlace makes the folder of a page.
func (c *Crawl) createPlace(m archive.Meta, name string) error {
	folder := filepath.Join(c.dir, treeFolder, filepath.FromSlash(name))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Rename(c.rawPath(m.URL), filepath.Join(folder, DataName(m.URL, m.MIMEType))); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, metaFile), pagexml.New(m), 0o600)
}

// commitTree commits the tree.
func (c *Crawl) commitTree(ctx context.Context, list []archive.Meta) (commit archive.Commit, err error) {
	tree := filepath.Join(c.dir, treeFolder)
	found, err := listFiles(tree)
	if err != nil {
		return commit, err
	}
	sources := make([]source, len(found))
	for i, o := range found {
		sources[i] = source{name: o.name, from: filepath.Join(tree, filepath.FromSlash(o.name))}
	}
	d, unlock, err := c.r.lockDomain(ctx, c.domain)
	if err != nil {
		return commit, err
	}
	defer unlock()
	if err := c.createDomain(ctx, d); err != nil {
		return commit, err
	}
	commit = archive.Commit{CommitTag: c.tag, Time: c.start}
	err = c.r.withNextNumber(ctx, c.domain, func(number int64, lock *os.File) error {
		commit.Number = number
		if err := d.commitFiles(ctx, version{tag: c.tag, number: number}, c.start, sources, true, lock); err != nil {
			return err
		}
		c.r.step("tag")
		return c.r.catalog.Add(ctx, catalog.Commit{Number: number, CommitTag: c.tag, Domain: c.domain, Time: c.start, Pages: list})
	})
	if err != nil {
		return commit, err
	}
	c.r.step("database")
	// From here on the version is stored: what fails now, the next lock repairs.
	if err := d.showFiles(c.dir); err != nil {
		return commit, fmt.Errorf("%s is stored, but its files are not in place; the next access repairs them: %w", c.tag, err)
	}
	c.r.step("files")
	if err := d.setMark(d.tip.id); err != nil {
		return commit, err
	}
	_, err = d.git.runCommand(ctx, []*os.File{d.guard}, nil, "gc", "--auto", "--quiet")
	return commit, err
}

// createDomain makes the folder of a new domain, at once.
func (c *Crawl) createDomain(ctx context.Context, d *domain) error {
	if d.isPresent() {
		return nil
	}
	made := filepath.Join(c.dir, "domain")
	if err := os.MkdirAll(made, 0o700); err != nil {
		return err
	}
	if err := (git{filepath.Join(made, ".git")}).createRepository(ctx); err != nil {
		return err
	}
	if err := os.Rename(made, d.dir); err != nil {
		return err
	}
	c.r.step("folder")
	return files.SyncFolder(filepath.Dir(d.dir))
}
