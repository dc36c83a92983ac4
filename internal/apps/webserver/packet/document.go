package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hce/dc/canonical"
)

// Limits of a document. A crawler cuts texts to them; the Web Store refuses larger ones.
const (
	MaxTitle       = 2 << 10 // bytes
	MaxDescription = 8 << 10
	MaxWords       = 1000
	MaxWord        = 100
	MaxExtension   = 30
	MaxHTML        = 4 << 20
)

// ErrInvalid means that a payload is no valid document.
var ErrInvalid = errors.New("invalid document")

// Document is what a crawler found out about one file of a web server. The size of a page is that
// of its file, too; extension is in lower case without the dot.
type Document struct {
	Kind        Kind      `json:"-"`
	URL         string    `json:"url"` // canonical, http or https
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Words       []string  `json:"words,omitempty"` // keywords of a page, or words of a file's name
	HTML        string    `json:"html,omitempty"`  // code of a page, as UTF-8
	Size        int64     `json:"size"`
	Extension   string    `json:"extension,omitempty"`
	Modified    time.Time `json:"modified,omitzero"` // of the file, UTC
}

// Outcome says what a stored document was for the store.
type Outcome string

// A document that was stored before with the same content is unchanged: sending it twice stores it once.
const (
	New       Outcome = "new"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
)

// Answer is the payload of an answer.
type Answer struct {
	Outcome Outcome `json:"outcome,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// Encode returns a request with a new id. It returns ErrInvalid or ErrSize for a document that Decode
// would refuse.
func Encode(d Document) (Frame, error) {
	if err := d.checkURL(); err != nil {
		return Frame{}, err
	}
	payload, err := encodeJSON(d)
	if err == nil && len(payload) > MaxPayload {
		err = fmt.Errorf("encode %s: %w", d.URL, ErrSize)
	}
	return Frame{ID: NewID(), Kind: d.Kind, Payload: payload}, err
}

// Decode returns the document of a request. The error wraps ErrKind or ErrInvalid.
func Decode(f Frame) (Document, error) {
	if f.Kind != Page && f.Kind != File {
		return Document{}, fmt.Errorf("%w %d; a crawler sends %d and %d", ErrKind, f.Kind, Page, File)
	}
	var d Document
	if err := json.Unmarshal(f.Payload, &d); err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	d.Kind = f.Kind
	if err := d.checkURL(); err != nil {
		return Document{}, err
	}
	return d, nil
}

// Reply returns the response to the request with this id.
func Reply(id ID, kind Kind, a Answer) Frame {
	a.Error = Cut(a.Error, MaxDescription)
	payload, err := encodeJSON(a)
	if err != nil {
		panic(err) // two texts always have a JSON form
	}
	return Frame{ID: id, Kind: kind, Payload: payload}
}

// DecodeAnswer returns the answer in a response. The error wraps ErrKind or ErrInvalid.
func DecodeAnswer(f Frame) (a Answer, err error) {
	if f.Kind != Stored && f.Kind != Refused && f.Kind != Failed {
		return a, fmt.Errorf("%w %d of an answer", ErrKind, f.Kind)
	}
	if err := json.Unmarshal(f.Payload, &a); err != nil {
		return a, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return a, nil
}

// Cut returns text as valid UTF-8 of at most limit bytes, cut between characters.
func Cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// encodeJSON returns the JSON of a value, with < and & as they are, in one line without its end.
func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (d Document) checkURL() error {
	u, err := canonical.Canonical(d.URL)
	switch {
	case err != nil:
		return fmt.Errorf("%w: url %q: %w", ErrInvalid, Cut(d.URL, 200), err)
	case u != d.URL:
		return fmt.Errorf("%w: url %q is not canonical; that is %q", ErrInvalid, Cut(d.URL, 200), Cut(u, 200))
	case len(d.Title) > MaxTitle || len(d.Description) > MaxDescription || len(d.Extension) > MaxExtension || len(d.HTML) > MaxHTML:
		return fmt.Errorf("%w: %s: a text is too long", ErrInvalid, d.URL)
	case len(d.Words) > MaxWords || slices.ContainsFunc(d.Words, func(w string) bool { return w == "" || len(w) > MaxWord }):
		return fmt.Errorf("%w: %s: at most %d words of 1 to %d bytes", ErrInvalid, d.URL, MaxWords, MaxWord)
	case d.Size < 0:
		return fmt.Errorf("%w: %s: size %d", ErrInvalid, d.URL, d.Size)
	case d.Kind == File && (d.HTML != "" || d.Title != "" || d.Description != ""):
		return fmt.Errorf("%w: %s: a file has no title, description or code", ErrInvalid, d.URL)
	}
	return nil
}
