package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Repaired is the summary of Repair.
type Repaired struct {
	Files   int64 `json:"files"`   // of processed contents that were damaged and are built again
	Process int64 `json:"process"` // URLs whose raw content will be processed again
	Fetch   int64 `json:"fetch"`   // URLs whose raw content is damaged: the next crawl fetches them
	Lost    int64 `json:"lost"`    // older versions of pages that were damaged and are gone
}

// Repair gives back what is damaged: a processed content whose raw content is whole is made again by the
// next processing, and a URL without a whole raw content is fetched by the next crawl, whole, whatever the
// server says of changes. A damaged file of processed contents is set aside, and its whole entries are kept. It
// prints each URL in a line on report, and the summary on out as one line of JSON. No other process may have the
// stores open. A second run finds what the first one has left.
func Repair(ctx context.Context, c Config, out, report io.Writer, log *slog.Logger) error {
	s, closeAll, err := openedAlone(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	r := repairing{stores: s, config: c, report: func(text string, args ...any) { fmt.Fprintf(report, text+"\n", args...) }}
	sites, err := s.repo.SiteIDs(ctx)
	for i := 0; i < len(sites) && err == nil; i++ {
		if err = r.repairSite(ctx, sites[i]); err != nil {
			err = fmt.Errorf("repair site %s: %w", sites[i], err)
		}
	}
	return errors.Join(err, writeSummary(out, r.done))
}

// repairing is the state of one Repair.
type repairing struct {
	stores
	config Config
	report func(text string, args ...any)
	done   Repaired
}

func (r *repairing) repairSite(ctx context.Context, site string) error {
	if !r.config.InSQL {
		if err := r.repairFile(ctx, site); err != nil {
			return err
		}
	}
	selection := r.repo.Select("repair", site, wire.Criterion{Where: "Status IN (4,7) AND Crawled>0"})
	for {
		md5s, err := selection.Next(ctx)
		if err != nil || len(md5s) == 0 {
			return err
		}
		rows, err := r.repo.Rows(ctx, site, md5s)
		if err != nil {
			return err
		}
		for _, md5 := range md5s {
			row, found := rows[md5]
			if !found {
				continue
			}
			if err := r.repairURL(ctx, &row); err != nil {
				return err
			}
		}
	}
}

// repairFile builds a damaged file of processed contents again, from its whole entries.
func (r *repairing) repairFile(ctx context.Context, site string) error {
	faults := 0
	if err := r.files.Check(ctx, site, func(string) { faults++ }); err != nil || faults == 0 {
		return err
	}
	folder, err := r.files.SetAside(ctx, site)
	if err != nil {
		return err
	}
	r.done.Files++
	r.report("site %s: the damaged file of processed contents is in %s; remove it when you do not need it", site, folder)
	old, err := keyvalue.Open(folder, keyvalue.Options{Damaged: sqldb.Corrupt, Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{})
	}})
	if err != nil {
		return err
	}
	defer old.Close()
	selection := r.repo.Select("repair", site, wire.Criterion{Where: "Crawled>0"})
	for {
		md5s, err := selection.Next(ctx)
		if err != nil || len(md5s) == 0 {
			return err
		}
		var whole []wire.Entry
		size := 0
		for i, md5 := range md5s {
			e, found, err := old.Get(ctx, site, md5)
			if err != nil && !errors.Is(err, keyvalue.ErrDamaged) {
				return err
			}
			if err == nil && found {
				whole, size = append(whole, e), size+len(e.Data)
			}
			if size < movePage && i < len(md5s)-1 {
				continue
			}
			if _, err := r.files.PutAll(ctx, site, whole); err != nil {
				return err
			}
			whole, size = nil, 0
		}
	}
}

// repairURL looks at the contents of a row that no batch holds.
func (r *repairing) repairURL(ctx context.Context, row *wire.URL) error {
	whole, err := r.checkRawVersions(ctx, row)
	if err != nil {
		return err
	}
	if whole == damagedRaw {
		r.done.Fetch++
		r.report("%s (site %s, key %s): the raw content is damaged; the next crawl fetches it again", row.URL, row.SiteID, row.URLMd5)
		return r.setStatus(ctx, row, wire.StatusNew)
	}
	if !hasContent(row) {
		return nil
	}
	_, found, err := r.repo.Contents.Get(ctx, row.SiteID, row.URLMd5)
	switch {
	case err != nil && !wire.IsDamage(err.Error()):
		return err
	case err == nil && found:
		return nil
	case whole == noRaw:
		r.done.Fetch++
		r.report("%s (site %s, key %s): the processed content is damaged and there is no raw content; the next crawl fetches it again", row.URL, row.SiteID, row.URLMd5)
		return r.setStatus(ctx, row, wire.StatusNew)
	}
	r.done.Process++
	r.report("%s (site %s, key %s): the processed content is damaged; it is made again from the raw content", row.URL, row.SiteID, row.URLMd5)
	return r.setStatus(ctx, row, wire.StatusCrawled)
}

// dueAgain makes a row due for the crawl (StatusNew) or the processing (StatusCrawled). The next fetch is not conditional
// and its body counts as a new one.
func dueAgain(status int64) schema.Patch {
	set := schema.Patch{"Status": status, "State": int64(wire.URLEnabled)}
	if status == wire.StatusNew {
		set["ErrorMask"], set["SettingsSum"], set["RawContentMd5"], set["ETag"] = int64(0), int64(0), "", ""
	}
	return set
}

func (r *repairing) setStatus(ctx context.Context, row *wire.URL, status int64) error {
	_, err := r.repo.URLUpdate(ctx, []wire.URLUpdateRequest{{SiteID: row.SiteID, URLMd5: row.URLMd5, Set: dueAgain(status)}})
	return err
}

// What is left of the newest raw content of a URL.
type rawState int

const (
	noRaw rawState = iota
	wholeRaw
	damagedRaw
)

// checkRawVersions reads all versions of a URL, and removes those that are damaged. It returns the state of the newest one.
func (r *repairing) checkRawVersions(ctx context.Context, row *wire.URL) (state rawState, err error) {
	list, err := r.repo.Raw.List(ctx, row.SiteID, row.URLMd5)
	if err != nil {
		return noRaw, err
	}
	broken, newest := map[string]bool{}, ""
	for _, v := range list {
		if v.Kind == rawfiles.Raw {
			newest = v.Name
			state = wholeRaw
		}
		if _, err := r.repo.Raw.Read(ctx, v); errors.Is(err, segments.ErrDamaged) {
			broken[v.Name] = true
		} else if err != nil {
			return noRaw, err
		}
	}
	if len(broken) == 0 {
		return state, nil
	}
	r.done.Lost += int64(len(broken))
	if state == wholeRaw && broken[newest] {
		state = damagedRaw
		r.done.Lost--
	}
	var remove []rawfiles.Version
	for _, v := range list {
		if broken[v.Name] {
			remove = append(remove, v)
		}
	}
	return state, r.repo.Raw.DeleteVersions(ctx, remove)
}
