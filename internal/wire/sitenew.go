package wire

import (
	"encoding/json"
	"fmt"
)

// SiteNewRequest is the object of SITE_NEW (docs/spec/objects.md 2.1).
type SiteNewRequest struct {
	ID         string // from the request, or the md5 of the first root URL
	Site       Patch  // columns that the request sets, and Id
	MoveURLs   bool
	URLs       []Patch // rows of sites_urls; URL and URLMd5 are set
	Filters    []Patch
	Properties []Patch

	masks []int64 // normalization mask of each of URLs
}

// siteExtras are keys of site requests that have no effect.
var siteExtras = []string{"updateType", "criterions", "host", "errorNames", "recrawlLock", "_urlNormalizeMask"}

// ReadSiteNew reads the object of SITE_NEW. It requires an id or one root URL only
// (docs/spec/DECISIONS.md 1.7).
func ReadSiteNew(raw json.RawMessage, n *Notes) (SiteNewRequest, error) {
	o := readObject("Site", raw)
	r := SiteNewRequest{MoveURLs: o.bool("moveURLs", true)}
	r.Site = o.columns(SiteColumns)
	mask := o.int("_urlNormalizeMask", 0)
	o.accept(siteExtras...)
	r.ID = r.Site.Text("Id")
	var err error
	r.URLs, err = listOf(o, "urls", func(name string, raw json.RawMessage) (Patch, error) {
		row, mask, err := readRootURL(name, raw, mask, n)
		if err == nil {
			err = completeRoot(name, row)
		}
		if err != nil {
			return nil, err
		}
		setOwner(row, r.Site)
		r.masks = append(r.masks, mask)
		return row, nil
	})
	if err != nil {
		return r, err
	}
	if r.ID == "" && len(r.URLs) > 0 {
		r.ID = Md5(r.URLs[0].Text("URL"))
	}
	if r.ID == "" && o.err == nil {
		o.err = &FieldError{Object: "Site", Field: "id", Reason: "is missing, and so is urls[0] to make it from"}
	}
	r.Site["Id"] = r.ID
	r.Filters, err = listOf(o, "filters", func(name string, raw json.RawMessage) (Patch, error) {
		return readFilter(name, r.ID, raw, n)
	})
	if err != nil {
		return r, err
	}
	if o.has("properties") {
		if r.Properties, err = readProperties("Site.properties", r.ID, o.raw("properties"), n); err != nil {
			return r, err
		}
	}
	return r, o.end(n)
}

// setOwner gives a root URL the user of its site, unless the row has a user.
func setOwner(row, site Patch) {
	user, given := site["User_Id"]
	if _, own := row["User_Id"]; given && !own {
		row["User_Id"] = user
	}
}

// Normalize replaces each root URL that has a normalization mask by form(text, mask)
// (docs/spec/objects.md 2.2, 4.2). An error of form becomes a *FieldError. ID stays: it is
// made of the URL as given.
func (r *SiteNewRequest) Normalize(form func(text string, mask int64) (string, error)) error {
	return normalize("Site", r.URLs, r.masks, form)
}

func normalize(object string, rows []Patch, masks []int64, form func(string, int64) (string, error)) error {
	for i, row := range rows {
		text := row.Text("URL")
		if i >= len(masks) || masks[i] == 0 || text == "" {
			continue
		}
		normal, err := form(text, masks[i])
		if err != nil {
			return &FieldError{Object: fmt.Sprintf("%s.urls[%d]", object, i), Field: "url", Value: clip(quoteJSON(text)), Reason: "cannot be normalized: " + err.Error()}
		}
		if row["URLMd5"] == Md5(text) {
			row["URLMd5"] = Md5(normal)
		}
		row["URL"] = normal
	}
	return nil
}

// Check refuses invalid site ids and md5 keys (docs/spec/DECISIONS.md 4).
func (r SiteNewRequest) Check() error {
	if err := CheckSiteID("Site", "id", r.ID); err != nil {
		return err
	}
	for i, f := range r.Filters {
		if err := CheckSiteID(fmt.Sprintf("Site.filters[%d]", i), "siteId", f.Text("Site_Id")); err != nil {
			return err
		}
	}
	for i, p := range r.Properties {
		if err := checkSiteAndMd5(fmt.Sprintf("Site.properties[%d]", i), p.Text("Site_Id"), "urlMd5", p.Text("URLMd5")); err != nil {
			return err
		}
	}
	return nil
}

// readRootURL reads an item of urls: a text, to which mask applies, or an object with a
// mask of its own. It returns the row and its mask (docs/spec/objects.md 2.2).
func readRootURL(name string, raw json.RawMessage, mask int64, n *Notes) (Patch, int64, error) {
	if len(raw) > 0 && raw[0] == '"' {
		text, ok := readText(raw)
		if !ok {
			return nil, 0, &FieldError{Object: name, Value: clip(raw), Reason: KindText.reason(raw)}
		}
		for _, c := range URLColumns {
			if reason := c.refusal(text); c.Name == "URL" && reason != "" {
				return nil, 0, &FieldError{Object: name, Field: "url", Value: clip(raw), Reason: reason}
			}
		}
		return Patch{"URL": text}, mask, nil
	}
	o := readObject(name, raw)
	row := o.columns(RootURLColumns)
	mask = o.int("_normalizeMask", 0)
	o.accept("siteSelect", "attributes", "urlUpdate", "urlPut", "chainId", "contentMask", "errorNames", "host")
	return row, mask, o.end(n)
}

// completeRoot sets the key and the empty parent of a root URL.
func completeRoot(name string, row Patch) error {
	text := row.Text("URL")
	if text == "" {
		return &FieldError{Object: name, Field: "url", Reason: "is missing"}
	}
	row["URLMd5"] = Md5(text)
	row["ParentMd5"] = ""
	return nil
}

// readFilter reads a SiteFilter with the defaults of docs/spec/objects.md 2.3.
func readFilter(name, siteID string, raw json.RawMessage, n *Notes) (Patch, error) {
	row, err := readFilterFields(name, raw, n)
	setDefaults(row, Patch{"Subject": "", "OperationCode": int64(0), "Stage": int64(5),
		"Type": int64(1), "Mode": int64(0), "State": int64(1), "Group_Id": int64(0), "Site_Id": siteID})
	if _, given := row["Action"]; !given {
		row["Action"] = int64(1)
		// A filter of type 0 excludes, also without an action.
		if row["Type"] == int64(0) {
			row["Action"] = int64(-1)
		}
	}
	return row, err
}

// setDefaults sets the columns that row lacks.
func setDefaults(row, defaults Patch) {
	for column, value := range defaults {
		if _, given := row[column]; !given {
			row[column] = value
		}
	}
}

// readFilterFields reads the given fields only, without defaults.
func readFilterFields(name string, raw json.RawMessage, n *Notes) (Patch, error) {
	o := readObject(name, raw)
	row := o.columns(FilterColumns)
	if o.err == nil && !o.has("pattern") {
		o.fail("pattern", "is missing")
	}
	return row, o.end(n)
}
