package sites

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

var errScheme = errors.New("has no scheme and host to make a site of")

// SiteOf returns the site of a URL that names none: the site with the longest root URL
// that is a prefix of url, else the site of its scheme and host, else the general site
// (docs/spec/objects.md 5.3, selection 2).
func (s *Store) SiteOf(ctx context.Context, url string) (string, error) {
	return tables.RunForResult(ctx, s.run.Read, "SiteOf", func(t *Tx) (string, error) {
		return t.SiteFor("URL", wire.URLNewRequest{SiteSelect: wire.SelectQualify}, url)
	})
}

// SiteFor selects the site of a new URL: the site that the request names, else the site
// with the longest matching root URL, else by siteSelect.
func (t *Tx) SiteFor(object string, r wire.URLNewRequest, text string) (string, error) {
	named := r.Row.Text("Site_Id")
	if named != "" {
		if id, err := t.StoredID(named); err != nil || id != "" {
			return id, err
		}
	} else if r.SiteSelect != wire.SelectExplicit {
		if id, err := t.siteByRoot(text); err != nil || id != "" {
			return id, err
		}
	}
	switch r.SiteSelect {
	case wire.SelectExplicit:
		return wire.GeneralSite, nil
	case wire.SelectAuto, wire.SelectQualify:
		base, err := BaseOf(text)
		if err != nil {
			return "", &lenient.FieldError{Object: object, Field: "url", Value: tables.ClipText(text), Reason: err.Error()}
		}
		if id, err := t.StoredID(wire.Md5(base)); err != nil || id != "" {
			return id, err
		}
		if r.SiteSelect == wire.SelectQualify {
			return wire.GeneralSite, nil
		}
		return wire.Md5(base), t.newSite(autoSite(base))
	case wire.SelectNone:
		return "", tables.UnknownSite(object, "siteId", named)
	}
	return "", &lenient.FieldError{Object: object, Field: "siteSelect", Value: fmt.Sprint(r.SiteSelect), Reason: "is not 0, 1, 2 or 3"}
}

// siteByRoot returns the site whose root URL is the longest prefix of text, or "". It
// looks up the keys of all prefixes, because a comparison of texts ignores case.
func (t *Tx) siteByRoot(text string) (string, error) {
	keys := make([]string, len(text))
	length := make(map[string]int, len(text))
	for n := len(text); n > 0; n-- {
		md5 := urlkey.Of(text[:n])
		keys[len(text)-n], length[md5] = md5, n
	}
	site, longest := "", 0
	err := tables.ForEachChunk(keys, func(in string, args []any) error {
		if longest > 0 {
			return nil // later prefixes are shorter
		}
		return t.Each("SELECT URLMd5, Site_Id FROM "+t.PlainTable(tables.RootsInfo)+" WHERE URLMd5 IN "+in+" ORDER BY Site_Id DESC", args,
			tables.ScanPair(func(md5, of string) {
				if n := length[md5]; n >= longest {
					site, longest = of, n
				}
			}))
	})
	return site, err
}

// BaseOf returns scheme://netloc/ of a URL as written, with its user and port
// (docs/spec/objects.md 4.1).
func BaseOf(text string) (string, error) {
	u, err := canonical.Net(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if err != nil || u.Host == "" || !ok {
		return "", errScheme
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest + "/", nil
}

// autoSite is the site that URL_NEW makes for a base URL (docs/spec/objects.md 2.1,
// column "auto").
func autoSite(base string) wire.SiteNewRequest {
	id := wire.Md5(base)
	r := wire.SiteNewRequest{
		ID: id, MoveURLs: true,
		Site: schema.Patch{"Id": id, "Priority": int64(100), "MaxURLsFromPage": int64(0), "ProcessingDelay": int64(500),
			"User_Id": int64(0), "Category_Id": int64(0)},
	}
	r.URLs = []schema.Patch{{"URL": base, "URLMd5": urlkey.Of(base), "ParentMd5": ""}}
	r.Filters = []schema.Patch{{"Site_Id": id, "Pattern": "(.*)", "Subject": "", "OperationCode": int64(0), "Stage": int64(5),
		"Action": int64(1), "Type": int64(1), "Mode": int64(0), "State": int64(1), "Group_Id": int64(0)}}
	for _, p := range [][2]string{{"PROCESS_CTYPES", "text/html"}, {"STORE_HTTP_REQUEST", "1"}, {"STORE_HTTP_HEADERS", "1"}, {"HTTP_HEADERS", ""}, {"HTTP_COOKIE", ""}} {
		r.Properties = append(r.Properties, schema.Patch{"Site_Id": id, "URLMd5": "", "Name": p[0], "Value": p[1]})
	}
	return r
}
