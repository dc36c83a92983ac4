package wire

import (
	"cmp"
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// SiteNewRequest is the object of SITE_NEW (docs/spec/objects.md 2.1). Its lists are
// complete rows.
type SiteNewRequest struct {
	ID       string       // from the request, or the md5 of the first root URL
	Site     schema.Patch // columns that the request sets, and Id
	MoveURLs bool
	SiteLists
}

// siteExtras are keys of site requests that have no effect.
var siteExtras = []string{"updateType", "criterions", "host", "errorNames", "recrawlLock", "crawlingURLs", "processingURLs", "finished", "_urlNormalizeMask"}

// ReadSiteNew reads the object of SITE_NEW. It requires an id or one root URL only
// (docs/spec/DECISIONS.md 1.7).
func ReadSiteNew(raw json.RawMessage, n *lenient.Notes) (SiteNewRequest, error) {
	return lenient.ReadOne("Site", raw, n, readSiteNew)
}

func readSiteNew(o *lenient.Object) SiteNewRequest {
	r := SiteNewRequest{MoveURLs: o.ReadBool("moveURLs", true), Site: o.ReadColumns(SiteColumns)}
	o.AcceptUnused(siteExtras...)
	r.ID = r.Site.Text("Id")
	r.readURLs(o, r.Site)
	if r.ID == "" && len(r.URLs) > 0 {
		r.ID = Md5(r.URLs[0].Text("URL"))
	}
	if r.ID == "" {
		o.RefuseMissing("id", "is missing, and so is urls[0] to make it from")
	}
	r.Site["Id"] = r.ID
	r.Filters = lenient.ListOf(o, "filters", func(o *lenient.Object) schema.Patch { return readFilter(o, r.ID) })
	r.Properties = readProperties(o, r.ID, false)
	return r
}

// setOwner gives a root URL the user of its site, unless the row has a user.
func setOwner(row, site schema.Patch) {
	user, given := site["User_Id"]
	if _, own := row["User_Id"]; given && !own {
		row["User_Id"] = user
	}
}

// Check refuses invalid site ids and md5 keys (docs/spec/DECISIONS.md 4).
func (r SiteNewRequest) Check() error {
	err := CheckSiteID("Site", "id", r.ID)
	for i, f := range r.Filters {
		err = cmp.Or(err, CheckSiteID(fmt.Sprintf("Site.filters[%d]", i), "siteId", f.Text("Site_Id")))
	}
	for i, p := range r.Properties {
		name := fmt.Sprintf("Site.properties[%d]", i)
		err = cmp.Or(err, CheckSiteID(name, "siteId", p.Text("Site_Id")), checkGiven(CheckMd5, name, "urlMd5", p.Text("URLMd5")))
	}
	return err
}

// readRootURL reads an item of urls: a text, to which mask applies, or an object with a
// mask of its own. It returns the row and its mask (docs/spec/objects.md 2.2).
func readRootURL(r *lenient.Reading, name string, raw json.RawMessage, mask int64) (schema.Patch, int64) {
	if len(raw) > 0 && raw[0] == '"' {
		text, ok := schema.ReadText(raw)
		if !ok {
			r.KeepFirstError(&lenient.FieldError{Object: name, Value: lenient.ClipText(raw), Reason: schema.KindText.RefusalReason(raw)})
		} else if reason := urlColumn.RefusalReason(text); reason != "" {
			r.KeepFirstError(&lenient.FieldError{Object: name, Field: "url", Value: lenient.ClipText(raw), Reason: reason})
		}
		return schema.Patch{"URL": text}, mask
	}
	o := r.NewObject(name, raw)
	o.TagNumbers(RootURLColumns)
	row := o.ReadColumns(RootURLColumns)
	mask = o.ReadInt("_normalizeMask", 0)
	o.AcceptUnused("siteSelect", "attributes", "urlUpdate", "urlPut", "chainId", "contentMask", "errorNames", "host")
	o.NoteUnused()
	return row, mask
}

// readFilter reads a SiteFilter with the defaults of docs/spec/objects.md 2.3.
func readFilter(o *lenient.Object, siteID string) schema.Patch {
	row := readFilterFields(o)
	setDefaults(row, schema.Patch{"Subject": "", "OperationCode": int64(0), "Stage": int64(5),
		"Type": int64(1), "Mode": int64(0), "State": int64(1), "Group_Id": int64(0), "Site_Id": siteID})
	action := int64(1)
	if row["Type"] == int64(0) { // a filter that excludes, also without an action
		action = -1
	}
	setDefaults(row, schema.Patch{"Action": action})
	return row
}

// setDefaults sets the columns that row lacks.
func setDefaults(row, defaults schema.Patch) {
	for column, value := range defaults {
		if _, given := row[column]; !given {
			row[column] = value
		}
	}
}

// readFilterFields reads the given fields only, without defaults.
func readFilterFields(o *lenient.Object) schema.Patch {
	row := o.ReadColumns(FilterColumns)
	if !o.HasField("pattern") {
		o.RefuseField("pattern", "is missing")
	}
	return row
}
