package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Statuses of one element of URL_NEW (docs/spec/storage.md 4.7).
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

// siteFor chooses the site of a new URL: the one that it names, else the one of
// the longest root URL that begins it, else by siteSelect.
func (t *tx) siteFor(object string, r wire.URLNewRequest, text string) (string, error) {
	named := r.Row.Text("Site_Id")
	if named != "" {
		if id, err := t.known(named); err != nil || id != "" {
			return id, err
		}
	} else if r.SiteSelect != wire.SelectExplicit {
		if id, err := t.siteOf(text); err != nil || id != "" {
			return id, err
		}
	}
	switch r.SiteSelect {
	case wire.SelectExplicit:
		return wire.GeneralSite, nil
	case wire.SelectAuto, wire.SelectQualify:
		base, err := baseOf(text)
		if err != nil {
			return "", &wire.FieldError{Object: object, Field: "url", Value: clip(text), Reason: err.Error()}
		}
		if id, err := t.known(wire.Md5(base)); err != nil || id != "" {
			return id, err
		}
		if r.SiteSelect == wire.SelectQualify {
			return wire.GeneralSite, nil
		}
		return wire.Md5(base), t.newSite(autoSite(base))
	case wire.SelectNone:
		return "", &wire.FieldError{Object: object, Field: "siteId", Value: clip(named), Reason: errNoSite.Error()}
	}
	return "", &wire.FieldError{Object: object, Field: "siteSelect", Value: fmt.Sprint(r.SiteSelect), Reason: errSelection.Error()}
}

func clip(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "") + "..."
	}
	return s
}

// siteOf finds the site whose root URL is the longest one that text begins with,
// or "". Keys tell root URLs exactly, where an order of texts ignores case: those
// of all beginnings are asked for, the longest first.
func (t *tx) siteOf(text string) (string, error) {
	keys := make([]string, len(text))
	length := make(map[string]int, len(text))
	for n := len(text); n > 0; n-- {
		md5 := wire.Md5(text[:n])
		keys[len(text)-n], length[md5] = md5, n
	}
	site, longest := "", 0
	err := chunks(keys, func(in string, args []any) error {
		if longest > 0 {
			return nil // what follows is shorter
		}
		return t.Each("SELECT URLMd5, Site_Id FROM "+t.DB.Table(sqldb.Sites, "sites_urls")+" WHERE URLMd5 IN ("+in+") ORDER BY Site_Id DESC", args,
			func(scan func(...any) error) error {
				var md5, of string
				err := scan(&md5, &of)
				if n := length[md5]; n >= longest {
					site, longest = of, n
				}
				return err
			})
	})
	return site, err
}

// baseOf is scheme://netloc/ of a URL as it is written, a user and a port
// included (docs/spec/objects.md 4.1).
func baseOf(text string) (string, error) {
	u, err := url.Parse(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if err != nil || u.Host == "" || !ok {
		return "", errScheme
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest + "/", nil
}

// autoSite is the site that URL_NEW makes for a base URL (docs/spec/objects.md 2.1, column
// "auto").
func autoSite(base string) wire.SiteNewRequest {
	id := wire.Md5(base)
	r := wire.SiteNewRequest{
		ID: id, MoveURLs: true,
		Site: wire.Patch{"Id": id, "Priority": int64(100), "MaxURLsFromPage": int64(0), "ProcessingDelay": int64(500),
			"User_Id": int64(0), "Category_Id": int64(0)},
		URLs: []wire.Patch{{"URL": base, "URLMd5": id, "ParentMd5": ""}},
		Filters: []wire.Patch{{"Site_Id": id, "Pattern": "(.*)", "Subject": "", "OperationCode": int64(0), "Stage": int64(5),
			"Action": int64(1), "Type": int64(1), "Mode": int64(0), "State": int64(1), "Group_Id": int64(0)}},
	}
	for _, p := range [][2]string{{"PROCESS_CTYPES", "text/html"}, {"STORE_HTTP_REQUEST", "1"}, {"STORE_HTTP_HEADERS", "1"}, {"HTTP_HEADERS", ""}, {"HTTP_COOKIE", ""}} {
		r.Properties = append(r.Properties, wire.Patch{"Site_Id": id, "URLMd5": "", "Name": p[0], "Value": p[1]})
	}
	return r
}

// URLStatus reads the rows that are there, in the order of the request (docs/spec/storage.md
// 4.8); unknown sites and URLs add nothing.
func (s *Store) URLStatus(ctx context.Context, list []wire.URLStatusRequest) ([]wire.URL, error) {
	urls := []wire.URL{}
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

// URLUpdate changes rows (docs/spec/storage.md 4.9). Statuses has true for each element that
// had something to write, whether a row was found or not, and false for an
// unknown site, for an element that chooses no row, and for one that is refused;
// the first refusal stands in ErrorMessage.
func (s *Store) URLUpdate(ctx context.Context, list []wire.URLUpdateRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s, "URLUpdate", list, false, (*tx).updateURL)
}

func (t *tx) updateURL(object string, r wire.URLUpdateRequest) (written bool, err error) {
	site, err := t.known(r.SiteID)
	if err != nil || site == "" {
		return false, err
	}
	if r.URLMd5 == "" && r.Criterion.Where == "" {
		return false, &wire.FieldError{Object: object, Field: "urlMd5", Reason: "is missing, and so is criterions.WHERE"}
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
	if err := t.setURLs(g, rows, set); err != nil {
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
	md5    string
	status int64
}

// setURLs changes chosen rows of g's site and counts.
func (t *tx) setURLs(g target, rows []chosen, set wire.Patch) error {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.md5
	}
	return t.counted(g.site, keys, func() error {
		return chunks(keys, func(in string, args []any) error {
			_, err := t.set(g, set, nil, "Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{g.site}, args...)...)
			return err
		})
	})
}

// choose selects rows of a site by a criterion and, when it is not "", a key. It
// is a query of its own, which a cancelled context interrupts.
func (t *tx) choose(object, site string, c wire.Criterion, md5 string) ([]chosen, error) {
	text, args, err := t.selection(object, site, c, md5)
	if err != nil {
		return nil, err
	}
	var rows []chosen
	err = t.Each(t.named(site, "SELECT URLMd5, Status"+text), args, func(scan func(...any) error) error {
		var row chosen
		err := scan(&row.md5, &row.status)
		rows = append(rows, row)
		return err
	})
	return rows, err
}
