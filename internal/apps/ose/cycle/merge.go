package cycle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/files"
)

// runMerge is OSEM003.
func (c *Cycle) runMerge(ctx context.Context, j *job) error {
	merged, err := j.Merged()
	if err != nil {
		return err
	}
	m := &merger{job: j, hosts: append([]string{canonical.Host(j.first)}, c.Hosts...), anyHost: c.AnyHost, most: c.MaxURLs, keys: map[folder.Key]bool{}}
	if m.most == 0 {
		m.most = DefaultMaxURLs
	}
	ids, err := m.readKeys(merged)
	if err != nil {
		return err
	}
	defer m.closeFile()
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.addLinks(id); err != nil {
			return err
		}
		merged = max(merged, id)
	}
	if err := m.finishList(); err != nil {
		return err
	}
	if len(ids) > 0 {
		if err := j.SetMerged(merged); err != nil {
			return err
		}
	}
	if j.report.Stopped != "" {
		j.log.warnAll("links are left out", "reason", j.report.Stopped)
	}
	return j.setState(folder.Idle)
}

// merger adds links to .urls.
type merger struct {
	*job
	hosts   []string
	anyHost bool
	most    int64 // URLs of .urls

	keys map[folder.Key]bool
	file *os.File // the next list; nil without a new URL
	next *bufio.Writer
}

// readKeys reads the keys of .urls, and returns the ids above merged whose links are to be merged. A page that
// was merged and could not be parsed then is not looked for again.
func (m *merger) readKeys(merged folder.ID) (ids []folder.ID, err error) {
	urls, err := m.URLs()
	if err != nil {
		return nil, err
	}
	defer urls.Close()
	for record, err := range urls.All() {
		if err != nil {
			return nil, err
		}
		m.keys[folder.KeyOf(record.URL)] = true
		if record.ID > merged && record.Parsed != 0 {
			ids = append(ids, record.ID)
		}
	}
	return ids, nil
}

// addLinks adds the links of a page. A file that cannot be read is reported, and left as it is.
func (m *merger) addLinks(id folder.ID) error {
	var added []string
	err := m.Links(id, func(url string) error {
		if !m.anyHost && !slices.ContainsFunc(m.hosts, func(h string) bool { return strings.EqualFold(h, canonical.Host(url)) }) {
			return nil
		}
		key := folder.KeyOf(url)
		switch {
		case m.keys[key]:
		case m.report.URLs >= m.most:
			m.report.Stopped = fmt.Sprintf("%s has %d URLs; see --max-urls", folder.URLsName, m.report.URLs)
		default:
			m.keys[key] = true
			m.report.URLs++
			m.report.Done++
			added = append(added, url)
		}
		return nil
	})
	var fault *folder.Fault
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &fault) {
		m.report.Failed++
		m.log.warnAll("links cannot be read", "error", err)
		err = nil
	}
	if err != nil || len(added) == 0 {
		return err
	}
	return m.appendRecords(added)
}

// appendRecords appends records to the next list, which begins with .urls.
func (m *merger) appendRecords(urls []string) error {
	if m.file == nil {
		if err := m.createList(); err != nil {
			return err
		}
	}
	for _, url := range urls {
		if _, err := m.next.Write(folder.Record{URL: url}.Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// createList makes the next list a copy of .urls. One that an interrupted merge has left is removed.
func (m *merger) createList() error {
	name := folder.Merging.Next()
	if err := files.IgnoreMissing(os.Remove(m.Path(name))); err != nil {
		return err
	}
	from, err := m.OpenFile(folder.URLsName, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	if m.file, err = m.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL); err != nil {
		return err
	}
	m.next = bufio.NewWriterSize(m.file, bufferSize)
	_, err = io.Copy(m.next, from)
	return err
}

// finishList makes the next list .urls.
func (m *merger) finishList() error {
	if m.file == nil {
		return nil
	}
	folder.Reached("links")
	if err := errors.Join(m.next.Flush(), m.file.Sync()); err != nil {
		return err
	}
	folder.Reached("list")
	if err := os.Rename(m.Path(folder.Merging.Next()), m.Path(folder.URLsName)); err != nil {
		return err
	}
	folder.Reached("renamed")
	return files.SyncFolder(m.Dir)
}

func (m *merger) closeFile() {
	if m.file != nil {
		_ = m.file.Close() // finish has synced it
	}
}
