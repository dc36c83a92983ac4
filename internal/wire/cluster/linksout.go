package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// Our own operations for links to hosts that other nodes of a cluster own (package placement). A
// node's agent sends them to its db-task; clients cannot call them.
//
//	LINKS_TAKE on the node that found links   {"max":1000} -> {"owners":[{"owner":"n2","ids":[7],"count":30,"message":"KLUv..."}],"left":0}
//	LINKS_STORE on the owner                  {"messages":["KLUv...",...]} -> {"new":2,...}
//	LINKS_SENT on the node that found them    {"ids":[7]}
//
// A message is a LinksMessage, packed (package web/coding):
//
//	{"bundles":[{"id":7,"from":"n1","links":{"same":[{"url":...},...]}}]}
//
// Each of them may be repeated, and each may be lost: a bundle is taken again until LINKS_SENT, with
// the same links; an owner that has stored it skips it.

// LinksTakeRequest is the object of LINKS_TAKE. The answer is a LinksTaken.
type LinksTakeRequest struct {
	Max      int64 `json:"max"`      // most bundles of all groups; 0: 200
	MaxBytes int64 `json:"maxBytes"` // about the most JSON of one message (bytes); 0: 256 KiB
}

// Check refuses limits out of bounds.
func (r LinksTakeRequest) Check(object string) error {
	return cmp.Or(checkRange(object, "max", r.Max, 0, 10000), checkRange(object, "maxBytes", r.MaxBytes, 0, 4<<20))
}

// LinksTaken are links for other nodes. Without links it has no owners.
type LinksTaken struct {
	Owners []LinkGroup `json:"owners"` // perhaps several groups of one owner
	Left   int64       `json:"left"`   // links that wait and are not in a group; those of 10000 bundles are counted
}

// LinkGroup are bundles for one owner.
type LinkGroup struct {
	Owner   string  `json:"owner"`
	IDs     []int64 `json:"ids"`     // of the bundles
	Count   int64   `json:"count"`   // of their links
	Message []byte  `json:"message"` // for LINKS_STORE
}

// LinksStoreRequest is the object of LINKS_STORE: messages of one or several nodes.
type LinksStoreRequest struct {
	Messages [][]byte `json:"messages"`
}

// LinksMessage are bundles for one owner.
type LinksMessage struct {
	Bundles []LinkBundle `json:"bundles"`
}

// LinkBundle are links of one site that one transaction found, all for one owner. It never changes.
type LinkBundle struct {
	ID    int64    `json:"id"`   // on the node that found them; never used again
	From  string   `json:"from"` // that node
	Links LinkList `json:"links"`
}

// LinkOut is a link for its owner: the row as the node that found it would insert it. It has the
// site, or no site and a SiteSelect (SelectAuto or SelectQualify): then the owner chooses the site as
// for URL_NEW. Freq is the number of pages of one chunk that named it.
type LinkOut wire.URL

// linkURL has the fields of URL. Zero values are left out: a link sets a quarter of them.
var linkURL = func() reflect.Type {
	fields := reflect.VisibleFields(reflect.TypeFor[wire.URL]())
	for i, f := range fields {
		fields[i].Tag = reflect.StructTag(fmt.Sprintf(`json:"%s,omitzero"`, f.Tag.Get("json")))
	}
	return reflect.StructOf(fields)
}()

// MarshalJSON leaves out fields that are zero.
func (l LinkOut) MarshalJSON() ([]byte, error) {
	return json.Marshal(reflect.ValueOf(l).Convert(linkURL).Interface())
}

// UnmarshalJSON reads what MarshalJSON has written. Unlike URL.UnmarshalJSON it does not change values
// to fit: another node has done so.
func (l *LinkOut) UnmarshalJSON(data []byte) error {
	u := reflect.New(linkURL)
	if err := json.Unmarshal(data, u.Interface()); err != nil {
		return err
	}
	*l = u.Elem().Convert(reflect.TypeFor[LinkOut]()).Interface().(LinkOut)
	return nil
}

// LinksSentRequest is the object of LINKS_SENT: links that are stored durably elsewhere. The
// answer is a GeneralResponse with their number.
type LinksSentRequest struct {
	IDs []int64 `json:"ids"`
}

// Check accepts all ids.
func (r LinksSentRequest) Check(string) error { return nil }

// Check refuses a request without messages.
func (r LinksStoreRequest) Check(object string) error {
	if len(r.Messages) == 0 {
		return &lenient.FieldError{Object: object, Field: "messages", Reason: "is missing or empty"}
	}
	return nil
}

// Check refuses a message without bundles, bundles without a sender and invalid site ids.
func (m LinksMessage) Check(object string) error {
	if len(m.Bundles) == 0 {
		return &lenient.FieldError{Object: object, Field: "bundles", Reason: "is missing or empty"}
	}
	for _, b := range m.Bundles {
		if b.From == "" {
			return &lenient.FieldError{Object: object + ".bundles", Field: "from", Reason: "is missing"}
		}
		for _, l := range b.Links {
			if err := wire.CheckSiteID(object+".links", "siteId", l.SiteID); l.SiteID != "" && err != nil {
				return err
			}
		}
	}
	return nil
}

// Key identifies a bundle among all that an owner ever gets. It depends on the URLs too, because a
// node that was restored from a backup uses ids again.
func (b LinkBundle) Key() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %d\n", b.From, b.ID)
	for _, l := range b.Links {
		fmt.Fprintf(&text, "%s %s\n", l.SiteID, l.URLMd5)
	}
	return wire.Md5(text.String())
}

// LinksStored is the answer to LINKS_STORE: what became of the links.
type LinksStored struct {
	New      int      `json:"new"`      // inserted
	Known    int      `json:"known"`    // had a row
	Waiting  int      `json:"waiting"`  // for a larger lease of the limit of their site
	Dropped  int      `json:"dropped"`  // the site is full or unknown, or the URL cannot be stored
	Passed   int      `json:"passed"`   // queued for a third node, which owns their hosts
	Repeated bool     `json:"repeated"` // all bundles were stored before
	Unknown  []string `json:"unknown"`  // sites whose links were dropped
}

func checkRange(object, field string, value, least, most int64) error {
	if value >= least && value <= most {
		return nil
	}
	return &lenient.FieldError{Object: object, Field: field, Value: fmt.Sprint(value), Reason: fmt.Sprintf("is not %d to %d", least, most)}
}
