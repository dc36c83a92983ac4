package index

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/document"
	api "github.com/blevesearch/bleve_index_api"

	"hce/dc/internal/search"
)

// Names of fields.
const (
	fieldKind    = "kind"    // search.Kind, or hostKind or siteKind
	fieldHost    = "host"    // as in the URL, with its port
	fieldSites   = "sites"   // what "site:" finds: host, host with port, and the domains above
	fieldDate    = "date"    // Unix seconds
	fieldSeen    = "seen"    // Unix seconds; of hostKind
	fieldHash    = "hash"    // of the content; the UUID without one
	fieldRow     = "row"     // site and key in the cluster
	fieldVersion = "version" // of the content
	fieldMeta    = "meta"    // stored only: the document as JSON
	fieldCopy    = "copy"    // stored only: HTML code
)

// Names of fields of words, behind the kind: see of.
const (
	fieldTitle = "title"
	fieldAbout = "about" // description and keywords
	fieldBody  = "body"
	fieldName  = "name"  // words of the name of a file, or inside of words of the title
	fieldGrams = "grams" // trigrams of the name of a file
)

// of returns the name of a field of words of one kind. So a search in a kind meets no other documents.
func of(kind search.Kind, name string) string { return string(kind) + "/" + name }

// Kinds of entries that are no documents.
const (
	hostKind = "host" // the expiry directory: a host and when it was seen last
	siteKind = "site" // how far the feed of a site is
)

// Limits of a document. What is longer is cut.
const (
	MaxTitle = 1 << 10
	MaxAbout = 8 << 10
	MaxBody  = 256 << 10
	MaxCopy  = 2 << 20 // a longer HTML copy is left out
	MaxURL   = 4 << 10
)

const (
	keyOnly = api.IndexField
	sorted  = api.IndexField | api.DocValues
	text    = api.IndexField | api.IncludeTermVectors
)

// Check returns why a document cannot be stored, or nil.
func Check(d search.Document) error {
	u, err := url.Parse(d.URL)
	switch {
	case err != nil:
		return fmt.Errorf("store document: the URL %.200q cannot be read: %w", d.URL, err)
	case len(d.URL) > MaxURL:
		return fmt.Errorf("store document: the URL %.200q... has %d bytes; the limit is %d", d.URL, len(d.URL), MaxURL)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("store document: %.200q is not an absolute URL of http or https", d.URL)
	case !d.Kind.Valid():
		return fmt.Errorf("store document %.200s: kind %q is not one of pages, images, documents", d.URL, d.Kind)
	}
	return nil
}

// complete fills what follows from the URL, and cuts what is too long.
func complete(d search.Document) search.Document {
	u, err := url.Parse(d.URL)
	if err != nil { // Check has read it
		return d
	}
	d.UUID = search.UUIDOf(d.URL)
	d.Host = strings.ToLower(u.Host)
	d.Title, d.Text = cut(d.Title, MaxTitle), cut(d.Text, MaxBody)
	d.Description, d.Keywords = cut(d.Description, MaxAbout), cut(d.Keywords, MaxAbout)
	if len(d.Copy) > MaxCopy {
		d.Copy = ""
	}
	d.Cached = d.Cached || d.Copy != ""
	if d.Kind != search.Pages && d.Name == "" {
		d.Name, d.Format = nameOf(u, d.Format)
	}
	d.Name, d.Format = cut(d.Name, 255), cut(strings.ToUpper(d.Format), 16)
	return d
}

// nameOf returns the name of a file and its format. A format that is known stays.
func nameOf(u *url.URL, format string) (string, string) {
	name := u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= 11 {
		if format == "" {
			format = name[i+1:]
		}
		name = name[:i]
	}
	if name == "" {
		name = u.Host
	}
	return name, format
}

// cut returns the first bytes of a text in whole, valid characters.
func cut(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// sitesOf returns what "site:" may name for a host: with and without the port, and each domain above.
func sitesOf(host string) (list []string) {
	list = append(list, host)
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
		list = append(list, name)
	}
	if net.ParseIP(name) != nil {
		return list
	}
	for {
		_, parent, more := strings.Cut(name, ".")
		if !more || !strings.Contains(parent, ".") {
			return list
		}
		list, name = append(list, parent), parent
	}
}

// row is the key of fieldRow.
func row(site, key string) string { return site + ":" + key }

// entry returns a complete document as it is indexed.
func (a analysers) entry(d search.Document) (*document.Document, error) {
	meta, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode document %s: %w", d.URL, err)
	}
	e := document.NewDocument(d.UUID)
	key := func(name, value string, o api.FieldIndexingOptions) {
		e.AddField(document.NewTextFieldCustom(name, nil, []byte(value), o, keyword{}))
	}
	words := a.of(d.Language, d.Text+" "+d.Title)
	add := func(name, value string, o api.FieldIndexingOptions) {
		if value != "" {
			e.AddField(document.NewTextFieldCustom(of(d.Kind, name), nil, []byte(value), o, words))
		}
	}
	key(fieldKind, string(d.Kind), keyOnly)
	key(fieldHost, d.Host, keyOnly)
	for _, name := range sitesOf(d.Host) {
		key(fieldSites, name, keyOnly)
	}
	hash := d.Hash
	if hash == "" {
		hash = d.UUID
	}
	key(fieldHash, string(d.Kind)+hash, sorted)
	if d.Site != "" {
		key(fieldRow, row(d.Site, d.Key), sorted)
		key(fieldVersion, d.Version, sorted)
	}
	if !d.Date.IsZero() {
		e.AddField(document.NewNumericFieldWithIndexingOptions(fieldDate, nil, float64(d.Date.Unix()), keyOnly))
	}
	add(fieldTitle, d.Title, text)
	add(fieldAbout, strings.TrimSpace(d.Description+"\n"+d.Keywords), text)
	add(fieldBody, d.Text, text|api.StoreField)
	if d.Kind == search.Pages {
		if words := wordsOfName(d.Title); words != d.Title { // such as pg_stat_activity
			e.AddField(document.NewTextFieldCustom(of(d.Kind, fieldName), nil, []byte(words), text, a["plain"]))
		}
	} else {
		e.AddField(document.NewTextFieldCustom(of(d.Kind, fieldName), nil, []byte(wordsOfName(d.Name)), text, a["plain"]))
		e.AddField(document.NewTextFieldCustom(of(d.Kind, fieldGrams), nil, []byte(d.Name+"."+d.Format), text, grams{}))
	}
	e.AddField(document.NewTextFieldCustom(fieldMeta, nil, meta, api.StoreField, keyword{}))
	if d.Copy != "" {
		e.AddField(document.NewTextFieldCustom(fieldCopy, nil, []byte(d.Copy), api.StoreField, keyword{}))
	}
	return e, nil
}

// decode returns the document of an entry.
func decode(e api.Document) (d search.Document, err error) {
	e.VisitFields(func(f api.Field) {
		switch {
		case f.Name() == fieldMeta:
			err = json.Unmarshal(f.Value(), &d)
		case strings.HasSuffix(f.Name(), "/"+fieldBody):
			d.Text = string(f.Value())
		case f.Name() == fieldCopy:
			d.Copy = string(f.Value())
		}
	})
	return d, err
}

// HostState is an entry of the expiry directory.
type HostState struct {
	Host string    `json:"host"`
	Seen time.Time `json:"seen"`
}

// SiteState is how far the feed of a site is. Package feed gives the fields their meaning.
type SiteState struct {
	Watermark string    `json:"watermark,omitempty"` // change date up to which rows were read
	Sweep     string    `json:"sweep,omitempty"`     // change date at the start of the sweep that runs
	Key       string    `json:"key,omitempty"`       // last key of the sweep that runs
	Swept     time.Time `json:"swept,omitzero"`      // end of the last sweep
}

// special returns an entry of the index that is no document.
func special(kind, name string, value any, seen time.Time) (*document.Document, error) {
	meta, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode state of %s %s: %w", kind, name, err)
	}
	e := document.NewDocument(kind + ":" + name)
	e.AddField(document.NewTextFieldCustom(fieldKind, nil, []byte(kind), keyOnly, keyword{}))
	e.AddField(document.NewTextFieldCustom(fieldMeta, nil, meta, api.StoreField, keyword{}))
	if !seen.IsZero() {
		e.AddField(document.NewNumericFieldWithIndexingOptions(fieldSeen, nil, float64(seen.Unix()), keyOnly))
	}
	return e, nil
}
