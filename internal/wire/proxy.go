package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// Proxy is a row of sites_proxy (docs/spec/objects.md 2.12, docs/spec/storage.md 1.6). Domains and
// Limits hold the text of a JSON value; "" is NULL in SQL and null in JSON.
type Proxy struct {
	ID          int64       `json:"id" col:"Id" fit:"u64"`
	SiteID      string      `json:"siteId" col:"Site_Id" fit:"id"`
	Host        string      `json:"host" col:"Host" fit:"128"` // host:port
	Domains     string      `json:"domains" col:"Domains" fit:"8192"`
	Priority    int64       `json:"priority" col:"Priority" fit:"u32"`
	State       int64       `json:"state" col:"State" fit:"u32"` // 1: in use
	CountryCode string      `json:"countryCode" col:"CountryCode" fit:"64"`
	CountryName string      `json:"countryName" col:"CountryName" fit:"64"`
	RegionCode  int64       `json:"regionCode" col:"RegionCode" fit:"u32"`
	RegionName  string      `json:"regionName" col:"RegionName" fit:"64"`
	CityName    string      `json:"cityName" col:"CityName" fit:"64"`
	ZipCode     string      `json:"zipCode" col:"ZipCode" fit:"8"`
	TimeZone    string      `json:"timeZone" col:"TimeZone" fit:"64"`
	Latitude    float64     `json:"latitude" col:"Latitude"`
	Longitude   float64     `json:"longitude" col:"Longitude"`
	MetroCode   int64       `json:"metroCode" col:"MetroCode" fit:"u32"`
	Faults      int64       `json:"faults" col:"Faults" fit:"u32"`
	FaultsMax   int64       `json:"faultsMax" col:"FaultsMax" fit:"u32"` // 0: no limit
	CategoryID  int64       `json:"categoryId" col:"Category_Id" fit:"u32"`
	Limits      string      `json:"limits" col:"Limits" fit:"8192"`
	Description string      `json:"description" col:"Description" fit:"16383"`
	CDate       schema.Date `json:"cDate" col:"CDate"`
	UDate       schema.Date `json:"uDate" col:"UDate"`
}

// ProxyColumns are the columns of sites_proxy.
var ProxyColumns = schema.ColumnsOf(Proxy{})

// AnySite as the site of a proxy means all sites. GeneralSite means the same there.
const AnySite = "*"

// MarshalJSON writes dates with a T between day and time (docs/spec/objects.md 4.3), and
// null for Domains and Limits that are NULL.
func (p Proxy) MarshalJSON() ([]byte, error) {
	type plain Proxy
	return json.Marshal(struct {
		plain
		Domains *string `json:"domains"`
		Limits  *string `json:"limits"`
		CDate   isoDate `json:"cDate"`
		UDate   isoDate `json:"uDate"`
	}{plain(p), orNil(p.Domains), orNil(p.Limits), isoDate(p.CDate), isoDate(p.UDate)})
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// isoDate is a Date of a proxy, an attribute or a row of SQL_CUSTOM, written with a T
// between day and time (docs/spec/objects.md 4.3).
type isoDate schema.Date

// MarshalJSON writes null for the empty date.
func (d isoDate) MarshalJSON() ([]byte, error) {
	return schema.Date(ISO(string(d))).MarshalJSON()
}

// ISO converts a stored date to YYYY-MM-DDThh:mm:ss. It returns other texts unchanged.
func ISO(date string) string {
	if len(date) > 10 && date[10] == ' ' {
		return date[:10] + "T" + date[11:]
	}
	return date
}

// ProxyRequest is one element of PROXY_NEW and PROXY_UPDATE (docs/spec/objects.md 2.12).
type ProxyRequest struct {
	SiteID, Host string
	Row          schema.Patch // the other columns that the request sets, without Id
	Undated      bool         // uDate is absent; a change sets it to now
}

// ReadProxies reads the list of PROXY_NEW or PROXY_UPDATE. Errors name an element
// name[i]. Site and host are mandatory.
func ReadProxies(name string, raw json.RawMessage, n *lenient.Notes) ([]ProxyRequest, error) {
	return lenient.ReadList(name, raw, n, func(o *lenient.Object) ProxyRequest {
		_, dated := o.Fields["uDate"]
		setValueAsText(o, "domains")
		setValueAsText(o, "limits")
		r := ProxyRequest{Row: o.ReadColumns(ProxyColumns), Undated: !dated}
		r.SiteID, r.Host = r.Row.Text("Site_Id"), r.Row.Text("Host")
		if r.SiteID == "" {
			o.RefuseField("siteId", "is missing")
		}
		switch {
		case r.Host == "":
			o.RefuseField("host", "is missing")
		case strings.TrimSpace(r.Host) != r.Host: // MySQL ignores trailing spaces in comparisons
			o.RefuseField("host", "begins or ends with a space")
		}
		for _, column := range []string{"Id", "Site_Id", "Host"} {
			delete(r.Row, column)
		}
		return r
	})
}

// setValueAsText replaces a JSON list or object in field by its text.
func setValueAsText(o *lenient.Object, field string) {
	if !o.HasField(field) || o.Fields[field][0] != '{' && o.Fields[field][0] != '[' {
		return
	}
	var text bytes.Buffer
	if json.Compact(&text, o.Fields[field]) == nil {
		o.Fields[field] = schema.QuoteJSON(text.String())
	}
}

// Check refuses an invalid site id. object is the name in errors.
func (r ProxyRequest) Check(object string) error { return checkProxySite(object, &r.SiteID) }

// checkProxySite accepts AnySite, nil and valid site ids.
func checkProxySite(object string, id *string) error {
	if id == nil || *id == AnySite {
		return nil
	}
	return CheckSiteID(object, "siteId", *id)
}

// ProxySelection is one element of PROXY_DELETE and PROXY_STATUS (docs/spec/objects.md 2.12).
// It selects the row of SiteID and Host, or, if one of them is nil, the rows of Criterion.
// An empty Criterion selects no row.
type ProxySelection struct {
	SiteID, Host *string
	Criterion    Criterion
}

// ReadProxySelections reads the list of PROXY_DELETE or PROXY_STATUS. Errors name an
// element name[i].
func ReadProxySelections(name string, raw json.RawMessage, n *lenient.Notes) ([]ProxySelection, error) {
	return lenient.ReadList(name, raw, n, func(o *lenient.Object) ProxySelection {
		r := ProxySelection{SiteID: o.TextOrNil("siteId"), Host: o.TextOrNil("host"), Criterion: readCriterion(o, "criterions", Criterion{})}
		if r.Host != nil {
			*r.Host = strings.TrimSpace(*r.Host)
		}
		return r
	})
}

// Check refuses an invalid site id. object is the name in errors.
func (r ProxySelection) Check(object string) error { return checkProxySite(object, r.SiteID) }

// ProxyFindRequest is one element of PROXY_FIND (docs/spec/objects.md 2.12). It selects the
// rows of Criterion among those of SiteID, of the sites of SiteCriterion, or of all sites.
// Without a site and without any clause it selects no row.
type ProxyFindRequest struct {
	SiteID        *string
	SiteCriterion Criterion
	Criterion     Criterion
}

// ReadProxyFind reads the list of PROXY_FIND. Errors name an element name[i].
func ReadProxyFind(name string, raw json.RawMessage, n *lenient.Notes) ([]ProxyFindRequest, error) {
	return lenient.ReadList(name, raw, n, func(o *lenient.Object) ProxyFindRequest {
		return ProxyFindRequest{
			SiteID: o.TextOrNil("siteId"), SiteCriterion: readCriterion(o, "siteCriterions", Criterion{}),
			Criterion: readCriterion(o, "criterions", Criterion{}),
		}
	})
}

// Check refuses an invalid site id. object is the name in errors.
func (r ProxyFindRequest) Check(object string) error { return checkProxySite(object, r.SiteID) }
