package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Our own operations for links to hosts that other nodes of a cluster own (package placement). A
// node's agent sends them to its db-task; clients cannot call them.
//
//	LINKS_TAKE on the node that found links   {"max":1000} -> {"owners":[{"owner":"n2","ids":[1,2],"links":[...]}],"left":0}
//	LINKS_STORE on the owner                  {"links":[...]} -> {"new":2,...}
//	LINKS_SENT on the node that found them    {"ids":[1,2]}
//
// Each of them may be repeated, and each may be lost: a group is taken again until LINKS_SENT, with
// the same links in the same order; an owner that has stored it answers "repeated" and stores
// nothing.
const (
	LinksTake  Op = 63
	LinksSent  Op = 64
	LinksStore Op = 65
)

// LinksTakeRequest is the object of LINKS_TAKE. The answer is a LinksTaken.
type LinksTakeRequest struct {
	Max      int64 `json:"max"`      // most links of all groups; 0: 1000
	MaxBytes int64 `json:"maxBytes"` // about the most JSON of one group (bytes); 0: 256 KiB
}

// Check refuses limits out of bounds.
func (r LinksTakeRequest) Check(object string) error {
	return cmp.Or(checkRange(object, "max", r.Max, 0, 10000), checkRange(object, "maxBytes", r.MaxBytes, 0, 4<<20))
}

// LinksTaken are links for other nodes. Without links it has no owners.
type LinksTaken struct {
	Owners []LinkGroup `json:"owners"` // perhaps several groups of one owner
	Left   int64       `json:"left"`   // links that wait and are not in a group; at most 100000 are counted
}

// LinkGroup are links for one owner. The group stays the same until LINKS_SENT.
type LinkGroup struct {
	Owner string    `json:"owner"`
	IDs   []int64   `json:"ids"` // of Links
	Links []LinkOut `json:"links"`
}

// LinkOut is a link for its owner: the row as the node that found it would insert it.
type LinkOut struct {
	ID   int64  `json:"id"`   // on the node that found it; never used again
	From string `json:"from"` // that node
	// URL has the site, or no site and a SiteSelect (SelectAuto or SelectQualify): then the owner
	// chooses the site as for URL_NEW. Freq is the number of pages of one chunk that named it.
	URL URL `json:"url"`
}

// linkURL has the fields of URL. Zero values are left out: a link sets a quarter of them.
var linkURL = func() reflect.Type {
	fields := reflect.VisibleFields(reflect.TypeFor[URL]())
	for i, f := range fields {
		fields[i].Tag = reflect.StructTag(fmt.Sprintf(`json:"%s,omitzero"`, f.Tag.Get("json")))
	}
	return reflect.StructOf(fields)
}()

// linkText is the JSON of a LinkOut.
type linkText struct {
	ID   int64  `json:"id,omitzero"`
	From string `json:"from,omitzero"`
	URL  any    `json:"url"`
}

// MarshalJSON leaves out fields of the URL that are zero.
func (l LinkOut) MarshalJSON() ([]byte, error) {
	return json.Marshal(linkText{l.ID, l.From, reflect.ValueOf(l.URL).Convert(linkURL).Interface()})
}

// UnmarshalJSON reads what MarshalJSON has written. Unlike URL.UnmarshalJSON it does not change values
// to fit: another node has done so.
func (l *LinkOut) UnmarshalJSON(data []byte) error {
	u := reflect.New(linkURL)
	text := linkText{URL: u.Interface()}
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*l = LinkOut{ID: text.ID, From: text.From, URL: u.Elem().Convert(reflect.TypeFor[URL]()).Interface().(URL)}
	return nil
}

// LinksSentRequest is the object of LINKS_SENT: links that are stored durably elsewhere. The
// answer is a GeneralResponse with their number.
type LinksSentRequest struct {
	IDs []int64 `json:"ids"`
}

// Check accepts all ids.
func (r LinksSentRequest) Check(string) error { return nil }

// LinksStoreRequest is the object of LINKS_STORE: the links of one LinkGroup.
type LinksStoreRequest struct {
	Links []LinkOut `json:"links"`
}

// Check refuses links without a sender and invalid site ids.
func (r LinksStoreRequest) Check(object string) (err error) {
	for _, l := range r.Links {
		if l.From == "" && err == nil {
			err = &FieldError{Object: object + ".links", Field: "from", Reason: "is missing"}
		}
		if l.URL.SiteID != "" {
			err = cmp.Or(err, CheckSiteID(object+".links", "siteId", l.URL.SiteID))
		}
	}
	return err
}

// Key identifies a group of links among all that an owner ever gets. It depends on the URLs too,
// because a node that was restored from a backup uses ids again.
func (r LinksStoreRequest) Key() string {
	var text strings.Builder
	for _, l := range r.Links {
		fmt.Fprintf(&text, "%s %d %s %s\n", l.From, l.ID, l.URL.SiteID, l.URL.URLMd5)
	}
	return Md5(text.String())
}

// LinksStored is the answer to LINKS_STORE: what became of the links.
type LinksStored struct {
	New      int      `json:"new"`      // inserted
	Known    int      `json:"known"`    // had a row
	Dropped  int      `json:"dropped"`  // the site is full or unknown, or the URL cannot be stored
	Repeated bool     `json:"repeated"` // the group was stored before
	Unknown  []string `json:"unknown"`  // sites whose links were dropped
}

func checkRange(object, field string, value, least, most int64) error {
	if value >= least && value <= most {
		return nil
	}
	return &FieldError{Object: object, Field: field, Value: fmt.Sprint(value), Reason: fmt.Sprintf("is not %d to %d", least, most)}
}
