package index

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	api "github.com/blevesearch/bleve_index_api"

	"hce/dc/internal/apps/search"
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

// Names of fields of words, behind the kind: see fieldNameOf.
const (
	fieldTitle = "title"
	fieldAbout = "about" // description and keywords
	fieldBody  = "body"
	fieldWhole = "whole" // the title as one term, see titles
	fieldName  = "name"  // words of the name of a file
	fieldGrams = "grams" // trigrams of the name of a file
)

// fieldNameOf returns the name of a field of words of one kind. So a search in a kind meets no other documents.
func fieldNameOf(kind search.Kind, name string) string { return string(kind) + "/" + name }

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
	switch host, _ := SplitURL(d.URL); {
	case len(d.URL) > MaxURL:
		return fmt.Errorf("store document: the URL %.200q... has %d bytes; the limit is %d", d.URL, len(d.URL), MaxURL)
	case host == "":
		return fmt.Errorf("store document: %.200q is not an absolute URL of http or https", d.URL)
	case !d.Kind.Valid():
		return fmt.Errorf("store document %.200s: kind %q is not one of pages, images, documents", d.URL, d.Kind)
	}
	return nil
}

// completeDocument fills what follows from the URL, and cuts what is too long.
func completeDocument(d search.Document) search.Document {
	host, path := SplitURL(d.URL)
	d.UUID, d.Host = search.UUIDOf(d.URL), host
	d.Title, d.Text = truncateText(d.Title, MaxTitle), truncateText(d.Text, MaxBody)
	d.Description, d.Keywords = truncateText(d.Description, MaxAbout), truncateText(d.Keywords, MaxAbout)
	if len(d.Copy) > MaxCopy {
		d.Copy = ""
	}
	d.Cached = d.Cached || d.Copy != ""
	if d.Kind != search.Pages && d.Name == "" {
		d.Name, d.Format = nameOf(host, path, d.Format)
	}
	d.Name, d.Format = truncateText(d.Name, 255), truncateText(strings.ToUpper(d.Format), 16)
	return d
}

// SplitURL returns the host of a URL of http or https, with its port and in lower case, and the path as
// it is written; "" for other texts. A path may have what net/url refuses, such as a % alone.
func SplitURL(text string) (host, path string) {
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return "", ""
	}
	at := strings.IndexAny(rest, "/?#")
	if at < 0 {
		at = len(rest)
	}
	host, path = rest[:at], rest[at:]
	host = host[strings.LastIndexByte(host, '@')+1:]
	if at = strings.IndexAny(path, "?#"); at >= 0 {
		path = path[:at]
	}
	return strings.ToLower(host), path
}

// nameOf returns the name of a file and its format. A format that is known stays.
func nameOf(host, path, format string) (string, string) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if readable, err := url.PathUnescape(name); err == nil {
		name = readable
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= 11 {
		if format == "" {
			format = name[i+1:]
		}
		name = name[:i]
	}
	if name == "" {
		name = host
	}
	return name, format
}

// truncateText returns the first bytes of a text in whole, valid characters.
func truncateText(text string, most int) string {
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

// rowTerm is the key of fieldRow.
func rowTerm(site, key string) string { return site + ":" + key }

// indexEntry returns a complete document as it is indexed.
func indexEntry(d search.Document) (*document.Document, error) {
	meta, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode document %s: %w", d.URL, err)
	}
	e := document.NewDocument(d.UUID)
	key := func(name, value string, o api.FieldIndexingOptions) {
		e.AddField(document.NewTextFieldCustom(name, nil, []byte(value), o, keyword{}))
	}
	add := func(name, value string, o api.FieldIndexingOptions, a analysis.Analyzer) {
		if value != "" {
			e.AddField(document.NewTextFieldCustom(fieldNameOf(d.Kind, name), nil, []byte(value), o, a))
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
		key(fieldRow, rowTerm(d.Site, d.Key), sorted)
		key(fieldVersion, d.Version, sorted)
	}
	if !d.Date.IsZero() {
		e.AddField(document.NewNumericFieldWithIndexingOptions(fieldDate, nil, float64(d.Date.Unix()), keyOnly))
	}
	language := analyserOf(d.Language, d.Text+" "+d.Title)
	add(fieldTitle, d.Title, text, language)
	add(fieldWhole, d.Title, keyOnly, titles{})
	add(fieldAbout, strings.TrimSpace(d.Description+"\n"+d.Keywords), text, language)
	add(fieldBody, d.Text, text|api.StoreField, language)
	if d.Kind != search.Pages {
		add(fieldName, d.Name, text, analyser(""))
		add(fieldGrams, d.Name+"."+d.Format, text, grams{})
	}
	e.AddField(document.NewTextFieldCustom(fieldMeta, nil, meta, api.StoreField, keyword{}))
	if d.Copy != "" {
		e.AddField(document.NewTextFieldCustom(fieldCopy, nil, []byte(d.Copy), api.StoreField, keyword{}))
	}
	return e, nil
}

// decodeDocument returns the document of an entry.
func decodeDocument(e api.Document) (d search.Document, err error) {
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
	Counters  string    `json:"counters,omitempty"`  // of the site before the last sweep
}

// newStateEntry returns an entry of the index that is no document.
func newStateEntry(kind, name string, value any, seen time.Time) (*document.Document, error) {
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
