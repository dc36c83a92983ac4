package wire

import (
	"encoding/json"
	"fmt"
)

// SiteUpdateRequest is the object of SITE_UPDATE (docs/spec/objects.md 2.5). If ID is "",
// Criterion selects the sites; an empty Criterion selects no site.
type SiteUpdateRequest struct {
	ID        string
	Criterion Criterion
	Set       Patch // columns of the site; never Id
	SiteLists
}

// SiteLists are changes of the lists of a site. A nil list does not change; an empty
// list can overwrite. Rows have no Site_Id.
//
// With UpdateAppend and UpdateOverwrite the rows are complete, ready to insert. With
// UpdateRows they hold the given columns only, and the key of the row to change: URLMd5 or
// URL of a root URL; Type, Mode and State of a filter; Name and URLMd5 of a property.
type SiteLists struct {
	UpdateType int64   // UpdateAppend, UpdateOverwrite or UpdateRows
	URLs       []Patch // rows of sites_urls, all in Status 7 (docs/spec/objects.md 2.2)
	Filters    []Patch
	Properties []Patch

	masks []int64 // normalization mask of each of URLs
}

// Given reports whether any list changes.
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
	var err error
	if r.Filters, err = listOf(o, "filters", func(name string, raw json.RawMessage) (Patch, error) { return r.readFilter(name, raw, n) }); err != nil {
		return r, err
	}
	if o.has("properties") {
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

func (l *SiteLists) readURLs(o *object, site Patch, n *Notes) (err error) {
	mask := o.int("_urlNormalizeMask", 0)
	l.URLs, err = listOf(o, "urls", func(name string, raw json.RawMessage) (Patch, error) {
		row, mask, err := readRootURL(name, raw, mask, n)
		if err == nil && (l.UpdateType != UpdateRows || row.Text("URLMd5") == "") {
			err = completeRoot(name, row)
		}
		if err != nil {
			return nil, err
		}
		delete(row, "Site_Id")
		row["Status"], row["ParentMd5"] = int64(StatusProcessed), ""
		if l.UpdateType != UpdateRows {
			setOwner(row, site)
		}
		l.masks = append(l.masks, mask)
		return row, nil
	})
	return err
}

// dropSiteID removes the site id of a row: rows belong to the updated site, whatever
// site they name. It refuses an invalid id.
func dropSiteID(name string, row Patch) error {
	id := row.Text("Site_Id")
	delete(row, "Site_Id")
	if id == "" {
		return nil
	}
	return CheckSiteID(name, "siteId", id)
}

func (l *SiteLists) readFilter(name string, raw json.RawMessage, n *Notes) (Patch, error) {
	var row Patch
	var err error
	if l.UpdateType == UpdateRows {
		row, err = readFilterFields(name, raw, n)
		setDefaults(row, Patch{"Type": int64(1), "Mode": int64(0), "State": int64(1)})
	} else {
		row, err = readFilter(name, "", raw, n)
	}
	if err == nil {
		err = dropSiteID(name, row)
	}
	return row, err
}

// Normalize does the same as SiteNewRequest.Normalize; object is the name in errors.
func (l *SiteLists) Normalize(object string, form func(text string, mask int64) (string, error)) error {
	return normalize(object, l.URLs, l.masks, form)
}

// Check refuses invalid site ids and md5 keys (docs/spec/DECISIONS.md 4).
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
		if md5 := p.Text("URLMd5"); md5 != "" {
			if err := CheckMd5(fmt.Sprintf("%s.properties[%d]", object, i), "urlMd5", md5); err != nil {
				return err
			}
		}
	}
	return nil
}
