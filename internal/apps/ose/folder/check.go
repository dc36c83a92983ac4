package folder

import (
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"hce/dc/internal/files"
	"hce/dc/internal/wire/urlkey"
)

// Key identifies a URL: two texts for one page have the same key, as in the cluster.
type Key [md5.Size]byte

// KeyOf returns the key of a canonical URL.
func KeyOf(url string) Key { return urlkey.Sum(url) }

// Next is the name of the next .urls while a folder is in a state, "" if no step writes one.
func (s State) Next() string {
	switch s {
	case Fetching:
		return URLsName + "2"
	case Parsing:
		return URLsName + "3"
	case Merging:
		return URLsName + "4"
	}
	return ""
}

// Check calls report for each thing in a folder that is not as it should be: a *Fault, or an error of
// the machine. It changes nothing. It holds 24 bytes for each URL.
func (f *Folder) Check(report func(error)) {
	status, err := f.Status()
	if err != nil {
		report(err)
	}
	ids, last, urls := f.checkURLs(status, report)
	if err := f.CheckIDs(status, last, urls); err != nil {
		report(err)
	}
	f.checkNames(status, ids, report)
}

// CheckIDs returns an error if .urls has lost records: it is empty, or .osestatus or .osemerged has an id above last, its
// highest one. urls is its number of records.
func (f *Folder) CheckIDs(status Status, last ID, urls int64) error {
	merged, err := f.Merged()
	lost := func(name, format string, args ...any) error {
		return &Fault{File: f.Path(name), Err: fmt.Errorf(format, args...)}
	}
	switch {
	case err != nil:
		return err
	case urls == 0:
		return lost(URLsName, "has no URL; restore it from a copy")
	case status.LastID > last && status.State != Fetching: // then the next list has it, or a crash of the machine took that
		return lost(StatusName, "the last URLID is %s, the highest of %s is %s: restore the file that is older, or write %s here to go on with what is left", status.LastID, URLsName, last, last)
	case merged > max(last, status.LastID):
		return lost(MergedName, "links are merged up to URLID %s, the highest of %s is %s: remove this file to merge all links again", merged, URLsName, last)
	}
	return nil
}

// checkURLs checks .urls and the files of its ids. It returns the ids, their highest one, and the number of records.
func (f *Folder) checkURLs(status Status, report func(error)) (ids map[ID]bool, last ID, number int64) {
	ids = map[ID]bool{}
	urls, err := f.URLs()
	if err != nil {
		report(err)
		return ids, status.LastID, 1 // the error is reported
	}
	defer urls.Close()
	keys := map[Key]bool{}
	wrong := func(column int, format string, args ...any) {
		report(faultOf(urls.path, urls.line, columnErrorf(column, format, args...)))
	}
	for record, err := range urls.All() {
		if err != nil {
			report(err)
			return ids, max(last, status.LastID), 1 // the rest is not known
		}
		number++
		last = max(last, record.ID)
		if key := KeyOf(record.URL); keys[key] {
			wrong(urlAt+1, "the URL is here for the second time")
		} else {
			keys[key] = true
		}
		switch {
		case record.ID == 0:
			continue
		case ids[record.ID]:
			wrong(idAt+1, "the URLID is here for the second time")
			continue
		case record.ID > status.LastID:
			wrong(idAt+1, "the URLID is above the last one of %s", StatusName)
		}
		ids[record.ID] = true
		f.checkPage(record, report)
	}
	return ids, last, number
}

// checkPage checks the files of an id.
func (f *Folder) checkPage(r Record, report func(error)) {
	m, err := f.Whole(r.ID)
	switch {
	case err != nil:
		report(err)
	case m.URL != r.URL || m.Code != r.Code || m.Streamed != r.Streamed:
		report(&Fault{File: f.Path(MetaName(r.ID)), Err: fmt.Errorf("is not of the request that %s has for this id", URLsName)})
	}
	if r.Parsed == 0 {
		return
	}
	ignore := func(string) error { return nil }
	for _, err := range []error{f.Links(r.ID, ignore), f.Malformed(r.ID, ignore)} {
		if err != nil {
			report(err)
		}
	}
}

// numbered are the names of the files of an id.
var numbered = regexp.MustCompile(`^(?:\.meta\.|\.links\.(?:malformed\.)?)?([0-9]{10})$`)

// checkNames reports the files that belong to no record, and to no step.
func (f *Folder) checkNames(status Status, ids map[ID]bool, report func(error)) {
	dir, err := os.Open(f.Dir)
	if err != nil {
		report(err)
		return
	}
	defer dir.Close()
	known := map[string]bool{StatusName: true, URLsName: true, MergedName: true, LockName: true, LogName: true, LogName + ".1": true, status.State.Next(): true}
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			name := e.Name()
			if found := numbered.FindStringSubmatch(name); found != nil {
				n, _ := parseDigits(found[1])
				if status.State != Fetching && !ids[ID(n)] {
					report(&Fault{File: f.Path(name), Err: fmt.Errorf("%s has no record with this id", URLsName)})
				}
			} else if !known[name] && !strings.HasSuffix(name, ".tmp") { // a kill leaves the last
				report(&Fault{File: f.Path(name), Err: errors.New("is no file of the cycle")})
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			report(err)
			return
		}
	}
}

// Summary is what a folder has.
type Summary struct {
	Dir     string         `json:"dir"`
	State   string         `json:"state"`
	Running bool           `json:"running"` // a process holds the lock
	LastID  ID             `json:"lastId"`
	URLs    int64          `json:"urls"`
	Fetched int64          `json:"fetched"`
	Parsed  int64          `json:"parsed"`
	Codes   map[string]int `json:"codes"` // number of URLs by HTTP code; 000: no answer
}

// Summary reads .osestatus and .urls.
func (f *Folder) Summary() (Summary, error) {
	s := Summary{Dir: f.Dir, Codes: map[string]int{}}
	status, err := f.Status()
	if err != nil {
		return s, err
	}
	s.State, s.LastID = status.State.String(), status.LastID
	if s.Running, err = f.isRunning(); err != nil {
		return s, err
	}
	urls, err := f.URLs()
	if err != nil {
		return s, err
	}
	defer urls.Close()
	for record, err := range urls.All() {
		if err != nil {
			return s, err
		}
		s.URLs++
		if record.ID == 0 {
			continue
		}
		s.Fetched++
		s.Codes[fmt.Sprintf("%03d", record.Code)]++
		if record.Parsed != 0 {
			s.Parsed++
		}
	}
	return s, nil
}

// isRunning reports whether a process holds the lock. It creates no lock file.
func (f *Folder) isRunning() (bool, error) {
	if _, err := os.Lstat(f.Path(LockName)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	free, err := files.TryShare(f.Path(LockName))
	if errors.Is(err, files.ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	free()
	return false, nil
}
