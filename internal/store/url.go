package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"hce/dc/internal/dc"
)

// Statuses of one element of URL_NEW (storage 4.7).
const (
	urlInserted = 0
	urlFailed   = 1
	urlExists   = 2
)

// Key is where a URL is stored.
type Key struct {
	SiteID, URLMd5 string
}

var (
	errNoSite    = errors.New("is no known site")
	errSelection = errors.New("is not 0, 1, 2 or 3")
	errScheme    = errors.New("has no scheme and host to make a site of")
)

// URLNew inserts URLs (storage 4.7). Statuses has 0 inserted, 1 failed, 2 exists
// for each; what failed is left out, and the first reason stands in
// ErrorMessage. Keys tell where each URL is stored, for the URL_PUT that an
// element may carry; the key of a failed one is zero.
func (s *Store) URLNew(ctx context.Context, list []dc.URLNewRequest) (dc.GeneralResponse, []Key, error) {
	answer := dc.GeneralResponse{Statuses: []any{}}
	var keys []Key
	err := s.update(ctx, "URLNew", func(t *tx) error {
		for i, r := range list {
			status, key := urlFailed, Key{}
			err := t.Try(func() (err error) {
				status, key, err = t.newURL(fmt.Sprintf("URLNew[%d]", i), r)
				return err
			})
			if err != nil {
				if !refused(err) {
					return err
				}
				status, key = urlFailed, Key{}
				complain(&answer, err)
			}
			answer.Statuses, keys = append(answer.Statuses, status), append(keys, key)
		}
		return nil
	})
	return answer, keys, err
}

// complain keeps the first reason.
func complain(answer *dc.GeneralResponse, err error) {
	if answer.ErrorMessage == "" {
		answer.ErrorMessage = message(err)
	}
}

func (t *tx) newURL(object string, r dc.URLNewRequest) (status int, key Key, err error) {
	text := r.Row.Text("URL")
	if len(text) > maxURL {
		return urlFailed, Key{}, &dc.FieldError{Object: object, Field: "url", Value: text[:100] + "...", Reason: errLongURL.Error()}
	}
	site, err := t.siteFor(object, r, text)
	if err != nil {
		return urlFailed, Key{}, err
	}
	key = Key{SiteID: site, URLMd5: r.Row.Text("URLMd5")}
	var known int64
	found, err := t.Row("SELECT Status FROM "+t.urlTable()+" WHERE Site_Id = ? AND URLMd5 = ?", []any{site, key.URLMd5}, &known)
	if err != nil {
		return urlFailed, key, err
	}
	if found {
		if r.Update != nil {
			update := *r.Update
			update.SiteID, update.URLMd5 = site, key.URLMd5
			if _, err := t.updateURL(object+".urlUpdate", update); err != nil {
				return urlFailed, key, err
			}
		}
		return urlExists, key, t.setAttributes(site, key.URLMd5, r.Attributes)
	}
	row, err := t.withDefaults(r.Row, site)
	if err != nil {
		return urlFailed, key, err
	}
	if _, err := t.insert("INSERT", t.urlsTarget(object, site), row, byRow); err != nil {
		return urlFailed, key, err
	}
	stats, err := t.statistics(site)
	if err != nil {
		return urlFailed, key, err
	}
	if err := stats.inserted(key.URLMd5, row.Int("Status", dc.StatusNew), row); err != nil {
		return urlFailed, key, err
	}
	return urlInserted, key, t.setAttributes(site, key.URLMd5, r.Attributes)
}

// withDefaults takes what the URL does not say from its site.
func (t *tx) withDefaults(row dc.Patch, site string) (dc.Patch, error) {
	row = clone(row)
	row["Site_Id"] = site
	var delay, kind int64
	var timeout float64
	if _, err := t.Get("site_url_defaults", []any{site}, &delay, &timeout, &kind); err != nil {
		return nil, err
	}
	for column, value := range map[string]any{"RequestDelay": delay, "HTTPTimeout": timeout, "Type": kind} {
		if _, given := row[column]; !given {
			row[column] = value
		}
	}
	return row, nil
}

// siteFor chooses the site of a new URL: the one that it names, else the one of
// the longest root URL that begins it, else by siteSelect.
func (t *tx) siteFor(object string, r dc.URLNewRequest, text string) (string, error) {
	named := r.Row.Text("Site_Id")
	if named != "" {
		if id, err := t.known(named); err != nil || id != "" {
			return id, err
		}
	} else if r.SiteSelect != dc.SelectExplicit {
		if id, err := t.siteOf(text); err != nil || id != "" {
			return id, err
		}
	}
	switch r.SiteSelect {
	case dc.SelectExplicit:
		return dc.GeneralSite, nil
	case dc.SelectAuto, dc.SelectQualify:
		base, err := baseOf(text)
		if err != nil {
			return "", &dc.FieldError{Object: object, Field: "url", Value: clip(text), Reason: err.Error()}
		}
		if id, err := t.known(dc.Md5(base)); err != nil || id != "" {
			return id, err
		}
		if r.SiteSelect == dc.SelectQualify {
			return dc.GeneralSite, nil
		}
		return dc.Md5(base), t.newSite(autoSite(base))
	case dc.SelectNone:
		return "", &dc.FieldError{Object: object, Field: "siteId", Value: clip(named), Reason: errNoSite.Error()}
	}
	return "", &dc.FieldError{Object: object, Field: "siteSelect", Value: fmt.Sprint(r.SiteSelect), Reason: errSelection.Error()}
}

func clip(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "") + "..."
	}
	return s
}

// siteOf finds the site whose root URL is the longest one that text begins with,
// or "". The last root URL in order that is not behind text is either that one,
// or no longer beginning can be one: the search goes on with what both share.
func (t *tx) siteOf(text string) (string, error) {
	for bound := text; bound != ""; {
		var root, site string
		found, err := t.Get("root_before", []any{bound}, &root, &site)
		if err != nil || !found {
			return "", err
		}
		if strings.HasPrefix(text, root) {
			return site, nil
		}
		shared := 0
		for shared < len(root) && shared < len(bound) && root[shared] == bound[shared] {
			shared++
		}
		bound = bound[:shared]
	}
	return "", nil
}

// baseOf is scheme://host[:port]/ of a URL.
func baseOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "", errScheme
	}
	return u.Scheme + "://" + u.Host + "/", nil
}

// autoSite is the site that URL_NEW makes for a base URL (objects 2.1, column
// "auto").
func autoSite(base string) dc.SiteNewRequest {
	id := dc.Md5(base)
	r := dc.SiteNewRequest{
		ID: id, MoveURLs: true,
		Site: dc.Patch{"Id": id, "Priority": int64(100), "MaxURLsFromPage": int64(0), "ProcessingDelay": int64(500),
			"User_Id": int64(0), "Category_Id": int64(0)},
		URLs: []dc.Patch{{"URL": base, "URLMd5": id, "ParentMd5": ""}},
		Filters: []dc.Patch{{"Site_Id": id, "Pattern": "(.*)", "Subject": "", "OperationCode": int64(0), "Stage": int64(5),
			"Action": int64(1), "Type": int64(1), "Mode": int64(0), "State": int64(1), "Group_Id": int64(0)}},
	}
	for _, p := range [][2]string{{"PROCESS_CTYPES", "text/html"}, {"STORE_HTTP_REQUEST", "1"}, {"STORE_HTTP_HEADERS", "1"}, {"HTTP_HEADERS", ""}, {"HTTP_COOKIE", ""}} {
		r.Properties = append(r.Properties, dc.Patch{"Site_Id": id, "URLMd5": "", "Name": p[0], "Value": p[1]})
	}
	return r
}

// URLStatus reads the rows that are there, in the order of the request (storage
// 4.8); unknown sites and URLs add nothing.
func (s *Store) URLStatus(ctx context.Context, list []dc.URLStatusRequest) ([]dc.URL, error) {
	urls := []dc.URL{}
	err := s.view(ctx, "URLStatus", func(t *tx) error {
		for _, r := range list {
			site, err := t.known(r.SiteID)
			if err != nil {
				return err
			}
			if site == "" {
				continue
			}
			rows, err := t.urls(site, []string{r.URLMd5})
			if err != nil {
				return err
			}
			if u, ok := rows[r.URLMd5]; ok {
				urls = append(urls, u)
			}
		}
		return nil
	})
	return urls, err
}

// URLUpdate changes rows (storage 4.9). Statuses has true for each element that
// had something to write, whether a row was found or not, and false for an
// unknown site, for an element that chooses no row, and for one that is refused;
// the first refusal stands in ErrorMessage.
func (s *Store) URLUpdate(ctx context.Context, list []dc.URLUpdateRequest) (dc.GeneralResponse, error) {
	answer := dc.GeneralResponse{Statuses: []any{}}
	err := s.update(ctx, "URLUpdate", func(t *tx) error {
		for i, r := range list {
			written := false
			err := t.Try(func() (err error) {
				written, err = t.updateURL(fmt.Sprintf("URLUpdate[%d]", i), r)
				return err
			})
			if err != nil {
				if !refused(err) {
					return err
				}
				written = false
				complain(&answer, err)
			}
			answer.Statuses = append(answer.Statuses, written)
		}
		return nil
	})
	return answer, err
}

func (t *tx) updateURL(object string, r dc.URLUpdateRequest) (written bool, err error) {
	site, err := t.known(r.SiteID)
	if err != nil || site == "" {
		return false, err
	}
	if r.URLMd5 == "" && r.Criterion.Where == "" {
		return false, &dc.FieldError{Object: object, Field: "urlMd5", Reason: "is missing, and so is criterions.WHERE"}
	}
	set := clone(r.Set)
	if tag, ok := set["ETag"].(string); ok {
		set["ETag"] = strings.Trim(tag, `"`)
	}
	rows, err := t.choose(object+".criterions", site, r.Criterion, r.URLMd5)
	if err != nil {
		return false, err
	}
	stats, err := t.statistics(site)
	if err != nil {
		return false, err
	}
	g := t.urlsTarget(object, site)
	if _, _, err := t.assignments(g, set); err != nil { // refused, be there rows or not
		return false, err
	}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.id
	}
	err = chunks(ids, func(in string, args []any) error {
		_, err := t.set(g, set, nil, "rowid IN ("+in+")", args...)
		return err
	})
	if err != nil {
		return false, err
	}
	if err := stats.updated(rows, set); err != nil {
		return false, err
	}
	if r.URLMd5 != "" && len(rows) > 0 {
		err = t.setAttributes(site, r.URLMd5, r.Attributes)
	}
	return len(set) > 0, err
}

// chosen is a row that a criterion selects.
type chosen struct {
	id     int64
	md5    string
	status int64
}

// choose selects rows of a site by a criterion and, when it is not "", a key. It
// is a query of its own, which a cancelled context interrupts.
func (t *tx) choose(object, site string, c dc.Criterion, md5 string) ([]chosen, error) {
	text, args, err := t.selection(object, site, c, md5)
	if err != nil {
		return nil, err
	}
	var rows []chosen
	err = t.Each(t.named(site, "SELECT rowid, URLMd5, Status"+text), args, func(scan func(...any) error) error {
		var row chosen
		err := scan(&row.id, &row.md5, &row.status)
		rows = append(rows, row)
		return err
	})
	return rows, err
}
