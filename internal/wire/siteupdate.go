package wire

import (
	"encoding/json"
	"fmt"
)

// SiteUpdateRequest is the object of SITE_UPDATE (docs/spec/objects.md 2.5). Without an ID the
// sites are chosen by Criterion; one without a clause chooses none.
type SiteUpdateRequest struct {
	ID        string
	Criterion Criterion
	Set       Patch // columns of the site; never Id
	SiteLists
}

// SiteLists are changes of a site's lists. A list that is nil stays as it is; an
// empty one can still overwrite. Rows have no site: it is the one that changes.
//
// With UpdateRows the rows hold what the request gives alone, and what tells
// which row is meant: of a root URL its key, or its text; of a filter Type, Mode
// and State; of a property Name and URLMd5. Else they are whole rows to insert.
type SiteLists struct {
	UpdateType int64   // UpdateAppend, UpdateOverwrite or UpdateRows
	URLs       []Patch // rows of sites_urls, all in Status 7 (docs/spec/objects.md 2.2)
	Filters    []Patch
	Properties []Patch

	masks []int64 // of URLs, in their order
}

// Given reports whether there is a list to change.
func (l SiteLists) Given() bool {
	return l.URLs != nil || l.Filters != nil || l.Properties != nil
}

// ReadSiteUpdate reads the object of SITE_UPDATE.
func ReadSiteUpdate(raw json.RawMessage, n *Notes) (SiteUpdateRequest, error) {
	r, err := readSiteUpdate("SiteUpdate", raw, n)
	if err == nil && r.ID == "" && !r.Criterion.Given {
		err = &FieldError{Object: "SiteUpdate", Field: "id", Reason: "is missing, and so is criterions"}
	}
	return r, err
}

func readSiteUpdate(name string, raw json.RawMessage, n *Notes) (SiteUpdateRequest, error) {
	o := readObject(name, raw)
	r := SiteUpdateRequest{Set: o.columns(SiteColumns), Criterion: o.criterion("criterions", Criterion{})}
	r.ID = r.Set.Text("Id")
	delete(r.Set, "Id")
	r.UpdateType = o.int("updateType", UpdateAppend)
	if r.UpdateType < UpdateAppend || r.UpdateType > UpdateRows {
		o.fail("updateType", "is not 0 (append), 1 (overwrite) or 2 (update)")
	}
	if err := r.readURLs(o, r.Set, n); err != nil {
		return r, err
	}
	if o.has("filters") {
		r.Filters = []Patch{}
	}
	for i, elem := range o.list("filters") {
		row, err := r.readFilter(fmt.Sprintf("%s.filters[%d]", name, i), elem, n)
		if err != nil {
			return r, err
		}
		r.Filters = append(r.Filters, row)
	}
	if o.has("properties") {
		var err error
		if r.Properties, err = readProperties(name+".properties", "", o.raw("properties"), n); err != nil {
			return r, err
		}
	}
	for i, p := range r.Properties {
		if err := dropSiteID(fmt.Sprintf("%s.properties[%d]", name, i), p); err != nil {
			return r, err
		}
	}
	o.accept("moveURLs")
	o.accept(siteExtras...)
	return r, o.end(n)
}

func (l *SiteLists) readURLs(o *object, site Patch, n *Notes) error {
	mask := o.int("_urlNormalizeMask", 0)
	if o.has("urls") {
		l.URLs = []Patch{}
	}
	for i, elem := range o.list("urls") {
		name := fmt.Sprintf("%s.urls[%d]", o.name, i)
		row, mask, err := readRootURL(name, elem, mask, n)
		if err == nil && (l.UpdateType != UpdateRows || row.Text("URLMd5") == "") {
			row, err = rootRow(name, row)
		}
		if err != nil {
			return err
		}
		delete(row, "Site_Id")
		row["Status"], row["ParentMd5"] = int64(StatusProcessed), ""
		if l.UpdateType != UpdateRows {
			ownedBy(row, site)
		}
		l.URLs, l.masks = append(l.URLs, row), append(l.masks, mask)
	}
	return nil
}

// dropSiteID takes the site out of a row of a list: rows are the updated site's,
// whatever site they name, but none may name what is no site.
func dropSiteID(name string, row Patch) error {
	id := row.Text("Site_Id")
	delete(row, "Site_Id")
	if id == "" {
		return nil
	}
	return CheckSiteID(name, "siteId", id)
}

func (l *SiteLists) readFilter(name string, raw json.RawMessage, n *Notes) (Patch, error) {
	if l.UpdateType != UpdateRows {
		row, err := readFilter(name, "", raw, n)
		if err == nil {
			err = dropSiteID(name, row)
		}
		return row, err
	}
	row, err := readFilterFields(name, raw, n)
	if err == nil {
		err = dropSiteID(name, row)
	}
	for column, def := range map[string]int64{"Type": 1, "Mode": 0, "State": 1} {
		if _, given := row[column]; !given {
			row[column] = def
		}
	}
	return row, err
}

// Normalize is SiteNewRequest.Normalize for the root URLs of object.
func (l *SiteLists) Normalize(object string, form func(text string, mask int64) (string, error)) error {
	return normalize(object, l.URLs, l.masks, form)
}

// Check refuses ids and keys that cannot be stored (docs/spec/DECISIONS.md 4).
func (r SiteUpdateRequest) Check() error {
	if r.ID != "" {
		if err := CheckSiteID("SiteUpdate", "id", r.ID); err != nil {
			return err
		}
	}
	return r.SiteLists.check("SiteUpdate")
}

func (l SiteLists) check(object string) error {
	for i, row := range l.URLs {
		if err := CheckMd5(fmt.Sprintf("%s.urls[%d]", object, i), "urlMd5", row.Text("URLMd5")); err != nil {
			return err
		}
	}
	for i, p := range l.Properties {
		if err := checkPropertyURL(fmt.Sprintf("%s.properties[%d]", object, i), p); err != nil {
			return err
		}
	}
	return nil
}
