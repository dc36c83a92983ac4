package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/wire/lenient"
)

// GeneralResponse answers operations that only change data (docs/spec/objects.md 3.3).
// Statuses has one element for each item of the request.
type GeneralResponse struct {
	ErrorCode    int    `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
	Statuses     []any  `json:"statuses"`
}

// MarshalJSON never writes null statuses.
func (g GeneralResponse) MarshalJSON() ([]byte, error) {
	type plain GeneralResponse
	if g.Statuses == nil {
		g.Statuses = []any{}
	}
	return json.Marshal(plain(g))
}

// Content is one stored content (docs/spec/objects.md 3.6).
type Content struct {
	Buffer string `json:"buffer"` // base64
	CDate  string `json:"cDate"`
	TypeID int    `json:"typeId"`
}

// URLContentResponse answers one element of URL_CONTENT (docs/spec/objects.md 3.6).
type URLContentResponse struct {
	URL               string          `json:"url"`
	URLMd5            *string         `json:"urlMd5"`
	SiteID            any             `json:"siteId"` // a text, or 0 if the URL is unknown
	Status            int64           `json:"status"`
	RawContents       []Content       `json:"rawContents"`
	ProcessedContents []any           `json:"processedContents"` // Content or []any{Content, Content}
	Headers           []*Content      `json:"headers"`
	Requests          []*Content      `json:"requests"`
	Meta              []*Content      `json:"meta"`
	Cookies           []*Content      `json:"cookies"`
	Hops              []*Content      `json:"hops,omitempty"` // not in the specification; only with MaskHops
	RawContentMd5     string          `json:"rawContentMd5"`
	ContentURLMd5     string          `json:"contentURLMd5"`
	DBFields          map[string]any  `json:"dbFields"`
	ItemProperties    json.RawMessage `json:"itemProperties"`
	Attributes        []Attribute     `json:"attributes"`
	// ErrorCode is 0, or CodeFailed if a content is damaged; ErrorMessage names it then. That content is
	// missing in the lists. Not in the specification.
	ErrorCode    int    `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// AddDamage says that a content is damaged. Only the first message is kept.
func (r *URLContentResponse) AddDamage(err error) {
	if r.ErrorCode == 0 {
		r.ErrorCode, r.ErrorMessage = CodeFailed, err.Error()
	}
}

// Weight returns the size of all contents in bytes of base64.
func (r *URLContentResponse) Weight() int {
	n := 0
	for _, c := range r.RawContents {
		n += len(c.Buffer)
	}
	for _, list := range [][]*Content{r.Headers, r.Requests, r.Meta, r.Cookies, r.Hops} {
		for _, c := range list {
			if c != nil {
				n += len(c.Buffer)
			}
		}
	}
	for _, p := range r.ProcessedContents {
		pair, ok := p.([]any)
		if !ok {
			pair = []any{p}
		}
		for _, half := range pair {
			if c, ok := half.(Content); ok {
				n += len(c.Buffer)
			}
		}
	}
	return n
}

// NewURLContentResponse returns an answer without contents. Its lists are empty, not nil.
func NewURLContentResponse(url string) URLContentResponse {
	return URLContentResponse{
		URL: url, SiteID: 0, RawContents: []Content{}, ProcessedContents: []any{},
		Headers: []*Content{}, Requests: []*Content{}, Meta: []*Content{}, Cookies: []*Content{},
		DBFields: map[string]any{}, Attributes: []Attribute{},
	}
}

// URLPutResponse answers one URL_PUT (docs/spec/objects.md 3.7).
type URLPutResponse struct {
	ContentType int64  `json:"contentType"`
	ErrCode     int    `json:"errCode"`
	ErrMessage  string `json:"errMessage"`
}

// ClientResponse answers any operation of a client (docs/spec/objects.md 3.1).
type ClientResponse struct {
	ErrorCode    int                  `json:"errorCode"`
	ErrorMessage string               `json:"errorMessage"`
	ItemsList    []ClientResponseItem `json:"itemsList"`
}

// Codes of ClientResponse and of its items (docs/spec/objects.md 3.1, 3.2).
const (
	ResponseOK         = 0
	ResponseNoAnswer   = 1
	ResponseNoNodes    = 2
	ResponseOverloaded = 3 // BATCH only
	ItemUnreadable     = 1
	ItemFailed         = 2
)

// MarshalJSON never writes a null list.
func (r ClientResponse) MarshalJSON() ([]byte, error) {
	type plain ClientResponse
	if r.ItemsList == nil {
		r.ItemsList = []ClientResponseItem{}
	}
	return json.Marshal(plain(r))
}

// ClientResponseItem is the answer of one data node (docs/spec/objects.md 3.2). Fields of
// type any are numbers; merging several nodes joins them to texts such as "0;0".
type ClientResponseItem struct {
	ErrorCode    any             `json:"errorCode"`
	ErrorMessage string          `json:"errorMessage"`
	Host         string          `json:"host"`
	Node         string          `json:"node"`
	Port         any             `json:"port"`
	Time         any             `json:"time"` // ms
	ID           any             `json:"id"`
	ItemObject   json.RawMessage `json:"itemObject"` // null on error
}

// Failed reports whether the code, or one of the joined codes of several nodes, is not 0.
func (i ClientResponseItem) Failed() bool { return strings.Trim(fmt.Sprint(i.ErrorCode), "0;") != "" }

// ErrorItem returns the answer of the service to a request that it refuses.
func ErrorItem(message string) ClientResponse {
	return ClientResponse{ItemsList: []ClientResponseItem{{
		ErrorCode: ItemFailed, ErrorMessage: message, Port: 0, Time: 0, ID: 0, ItemObject: json.RawMessage("null"),
	}}}
}

// Refusal is the answer of db-task to an invalid request. Managers convert it to an
// error item.
type Refusal struct {
	ErrorCode    int    `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
	Statuses     []any  `json:"statuses"`
	Refused      bool   `json:"refused"`
}

// Refuse converts err to a Refusal. The message of a FieldError does not include the
// errors that wrap it.
func Refuse(err error) Refusal {
	message := err.Error()
	var field *lenient.FieldError
	if errors.As(err, &field) {
		message = field.Error()
	}
	return Refusal{ErrorCode: max(CodeOf(err), CodeFailed), ErrorMessage: message, Statuses: []any{}, Refused: true}
}

// DamagedRaw and DamagedProcessed begin the error about a content whose bytes are not those that were stored.
// Only this content is lost: readers of many pages go on with the next.
const (
	DamagedRaw       = "damaged raw content"
	DamagedProcessed = "damaged processed content"
)

// IsDamage reports whether the message of an error or an answer is about a damaged content.
func IsDamage(message string) bool {
	return strings.Contains(message, DamagedRaw) || strings.Contains(message, DamagedProcessed)
}
