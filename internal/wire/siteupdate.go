package wire

import (
	"cmp"
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// SiteUpdateRequest is the object of SITE_UPDATE (docs/spec/objects.md 2.5). If ID is "",
// Criterion selects the sites; an empty Criterion selects no site.
type SiteUpdateRequest struct {
	ID        string
	Criterion Criterion
	Set       schema.Patch // columns of the site; never Id
	SiteLists
}

// SiteLists are changes of the lists of a site. A nil list does not change; an empty
// list can overwrite. Rows have no Site_Id.
//
// With UpdateAppend and UpdateOverwrite the rows are complete, ready to insert. With
// UpdateRows they hold the given columns only, and the key of the row to change: URLMd5 or
// URL of a root URL; Type, Mode and State of a filter; Name and URLMd5 of a property.
type SiteLists struct {
	UpdateType int64          // UpdateAppend, UpdateOverwrite or UpdateRows
	URLs       []schema.Patch // rows of sites_urls, all in Status 7 (docs/spec/objects.md 2.2)
	Filters    []schema.Patch
	Properties []schema.Patch

	masks []int64 // normalization mask of each of URLs
}

// Given reports whether any list changes.
func (l SiteLists) Given() bool {
	return l.URLs != nil || l.Filters != nil || l.Properties != nil
}

// ReadSiteUpdate reads the object of SITE_UPDATE.
func ReadSiteUpdate(raw json.RawMessage, n *lenient.Notes) (SiteUpdateRequest, error) {
	return lenient.ReadOne("SiteUpdate", raw, n, func(o *lenient.Object) SiteUpdateRequest {
		r := readSiteUpdate(o)
		if r.ID == "" && !r.Criterion.Given {
			o.RefuseMissing("id", "is missing, and so is criterions")
		}
		return r
	})
}

func readSiteUpdate(o *lenient.Object) SiteUpdateRequest {
	r := SiteUpdateRequest{Set: o.ReadColumns(SiteColumns), Criterion: readCriterion(o, "criterions", Criterion{})}
	r.ID = r.Set.Text("Id")
	delete(r.Set, "Id")
	r.UpdateType = o.ReadInt("updateType", UpdateAppend)
	if r.UpdateType < UpdateAppend || r.UpdateType > UpdateRows {
		o.RefuseField("updateType", "is not 0 (append), 1 (overwrite) or 2 (update)")
	}
	r.readURLs(o, r.Set)
	for _, row := range r.URLs {
		delete(row, "Site_Id")
		row["Status"] = int64(StatusProcessed)
	}
	r.Filters = lenient.ListOf(o, "filters", r.readFilter)
	r.Properties = readProperties(o, "", false)
	for i, p := range r.Properties {
		dropSiteID(o.Reading, fmt.Sprintf("%s.properties[%d]", o.Name, i), p)
	}
	o.AcceptUnused("moveURLs")
	o.AcceptUnused(siteExtras...)
	return r
}

// readURLs reads the root URLs of site.
func (l *SiteLists) readURLs(o *lenient.Object, site schema.Patch) {
	siteMask := o.ReadInt("_urlNormalizeMask", 0)
	if !o.HasField("urls") {
		return
	}
	l.URLs = []schema.Patch{}
	for name, raw := range o.EachElement(o.Name+".urls", o.Fields["urls"]) {
		if schema.IsNull(raw) {
			o.Notes.NoteIgnored(name, "is null, so it is left out")
			continue
		}
		row, mask := readRootURL(o.Reading, name, raw, siteMask)
		if l.UpdateType != UpdateRows || row.Text("URLMd5") == "" {
			text := row.Text("URL")
			if text == "" && o.Err == nil {
				o.Notes.NoteIgnored(name, "has no url, so it is left out")
				continue
			}
			row["URLMd5"] = urlkey.Of(text)
		} else if text := row.Text("URL"); text != "" {
			row["URLMd5"] = urlkey.Choose(row.Text("URLMd5"), text)
		}
		row["ParentMd5"] = ""
		if l.UpdateType != UpdateRows {
			setOwner(row, site)
		}
		l.URLs, l.masks = append(l.URLs, row), append(l.masks, mask)
	}
}

// dropSiteID removes the site id of a row: rows belong to the updated site, whatever
// site they name. It refuses an invalid id.
func dropSiteID(r *lenient.Reading, name string, row schema.Patch) {
	r.KeepFirstError(checkGiven(CheckSiteID, name, "siteId", row.Text("Site_Id")))
	delete(row, "Site_Id")
}

func (l *SiteLists) readFilter(o *lenient.Object) schema.Patch {
	var row schema.Patch
	if l.UpdateType == UpdateRows {
		row = readFilterFields(o)
		setDefaults(row, schema.Patch{"Type": int64(1), "Mode": int64(0), "State": int64(1)})
	} else {
		row = readFilter(o, "")
	}
	dropSiteID(o.Reading, o.Name, row)
	return row
}

// Normalize replaces each root URL that has a normalization mask by form(text, mask)
// (docs/spec/objects.md 2.2, 4.2). An error of form becomes a *FieldError; object is the
// name in errors. The id of a site does not change: it is made of the URL as given.
func (l *SiteLists) Normalize(object string, form func(text string, mask int64) (string, error)) error {
	for i, row := range l.URLs {
		text := row.Text("URL")
		if i >= len(l.masks) || l.masks[i] == 0 || text == "" {
			continue
		}
		normal, err := form(text, l.masks[i])
		if err != nil {
			reason := "cannot be normalized: " + err.Error()
			return &lenient.FieldError{Object: fmt.Sprintf("%s.urls[%d]", object, i), Field: "url", Value: lenient.ClipText(schema.QuoteJSON(text)), Reason: reason}
		}
		if row["URLMd5"] == urlkey.Of(text) {
			row["URLMd5"] = urlkey.Of(normal)
		}
		row["URL"] = normal
	}
	return nil
}

// Check refuses invalid site ids and md5 keys (docs/spec/DECISIONS.md 4).
func (r SiteUpdateRequest) Check() error {
	return cmp.Or(checkGiven(CheckSiteID, "SiteUpdate", "id", r.ID), r.SiteLists.checkLists("SiteUpdate"))
}

func (l SiteLists) checkLists(object string) (err error) {
	for i, row := range l.URLs {
		err = cmp.Or(err, CheckMd5(fmt.Sprintf("%s.urls[%d]", object, i), "urlMd5", row.Text("URLMd5")))
	}
	for i, p := range l.Properties {
		err = cmp.Or(err, checkGiven(CheckMd5, fmt.Sprintf("%s.properties[%d]", object, i), "urlMd5", p.Text("URLMd5")))
	}
	return err
}
