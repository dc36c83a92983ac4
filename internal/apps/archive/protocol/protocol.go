// Package protocol has the messages between the server of the archive and its clients.
//
// The transport is HTTP/1.1. Requests have their kind as the last part of the path and their values
// in the query, answers have their kind in the header Archive-Kind. Contents of files travel as
// plain bodies in both directions, everything else as JSON, and observers get server-sent events.
//
//	GET /v1/query?where=mimeType%3D'text/html'        Archive-Kind: versions   [{"url": ...}]
//	GET /v1/open?url=...&commitTag=...&name=data.html  Archive-Kind: stream     the bytes of the file
//	PUT /v1/create?url=...&commitTag=...&name=w.txt    Archive-Kind: done
//	GET /v1/observe?after=17                           event: changes           [{"number": 18, ...}]
//
// Why HTTP and not the ZMQ of the daemon: a file is a stream of any length with back pressure, which
// messages are not; TLS, proxies and clients exist for each language; "Expect: 100-continue" refuses a
// file before it is sent; and a broken body is known as broken, because its last chunk is missing.
//
// The package does no I/O and reads no clock.
package protocol

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hce/dc/internal/apps/archive"
)

// Kind says what a message contains.
type Kind string

// Kinds of requests.
const (
	Query   Kind = "query"   // where, orderBy, limit; answer Versions
	List    Kind = "list"    // url, commitTag; answer Files
	Open    Kind = "open"    // url, commitTag, name; answer Stream
	Create  Kind = "create"  // url, commitTag, name, and the file as body; answer Done
	Tag     Kind = "tag"     // url, commitTag, name; answer Node
	SetTag  Kind = "settag"  // url, commitTag, name, and the XML as body; answer Done
	Commits Kind = "commits" // after, limit; answer Changes
	Observe Kind = "observe" // after; answer Events
	Status  Kind = "status"  // answer State
)

// Kinds of answers.
const (
	Versions Kind = "versions" // list of archive.Meta
	Files    Kind = "files"    // list of archive.File
	Stream   Kind = "stream"   // bytes
	Node     Kind = "node"     // XML
	Changes  Kind = "changes"  // list of archive.Commit; also the kind of an event
	Events   Kind = "events"   // server-sent events
	State    Kind = "state"    // ServerState
	Done     Kind = "done"     // nothing
	Failed   Kind = "error"    // Failure
)

// Registered is the kind of the first event. Its id is the number after which commits follow.
const Registered Kind = "registered"

// Names of the protocol in HTTP.
const (
	Root        = "/v1/"
	KindHeader  = "Archive-Kind"
	LastEventID = "Last-Event-ID" // replaces after in the request of an observer that reconnects
)

// FromNow as After of an observer asks for the commits from now on.
const FromNow = -1

// Limits of requests, in bytes. MaxHeader has room for all others with each byte escaped.
const (
	MaxWhere  = 16 << 10
	MaxOrder  = 1 << 10
	MaxURL    = 8 << 10
	MaxName   = 1 << 10
	MaxNode   = 1 << 20 // XML of a tag
	MaxHeader = 80 << 10
	MaxLimit  = 1 << 20 // versions or commits in one answer
)

// methods are the kinds of requests with their methods.
var methods = map[Kind]string{
	Query: http.MethodGet, List: http.MethodGet, Open: http.MethodGet, Tag: http.MethodGet, Commits: http.MethodGet,
	Observe: http.MethodGet, Status: http.MethodGet, Create: http.MethodPut, SetTag: http.MethodPut,
}

// Method returns the HTTP method of a kind of requests, "" for another kind.
func (k Kind) Method() string { return methods[k] }

// Request is a request without its body. Each kind has only the members that its comment names.
type Request struct {
	Kind  Kind
	Query archive.Query
	Meta  archive.Meta // only URL and CommitTag, which identify a version
	Name  string
	After int64
	Limit int
}

// parameterFields are the parameters of a kind of requests, as places in r.
func (r *Request) parameterFields() map[string]any {
	version := map[string]any{"url": &r.Meta.URL, "commitTag": &r.Meta.CommitTag}
	switch r.Kind {
	case Query:
		return map[string]any{"where": &r.Query.Where, "orderBy": &r.Query.OrderBy, "limit": &r.Query.Limit}
	case List:
		return version
	case Open, Create, Tag, SetTag:
		version["name"] = &r.Name
		return version
	case Commits:
		return map[string]any{"after": &r.After, "limit": &r.Limit}
	case Observe:
		return map[string]any{"after": &r.After}
	}
	return nil
}

// Values returns the parameters of a request.
func (r Request) Values() url.Values {
	values := url.Values{}
	for name, place := range r.parameterFields() {
		switch p := place.(type) {
		case *string:
			values.Set(name, *p)
		case *int:
			values.Set(name, strconv.Itoa(*p))
		case *int64:
			values.Set(name, strconv.FormatInt(*p, 10))
		}
	}
	return values
}

// Parse reads the parameters of a request and checks their limits. Unknown and repeated parameters
// are errors. Errors wrap archive.ErrInvalid.
func Parse(kind Kind, values url.Values) (Request, error) {
	r := Request{Kind: kind}
	fields := r.parameterFields()
	for name, list := range values {
		place, known := fields[name]
		if !known || len(list) != 1 {
			return r, invalidError("parameter %.100q is unknown or repeated: it", name)
		}
		if err := setField(place, list[0]); err != nil {
			return r, invalidError("parameter %s: %w: it", name, err)
		}
	}
	return r, r.checkLimits()
}

func setField(place any, text string) (err error) {
	switch p := place.(type) {
	case *string:
		*p = text
	case *int:
		*p, err = strconv.Atoi(text)
	case *int64:
		*p, err = strconv.ParseInt(text, 10, 64)
	}
	return err
}

// checkLimits checks limits.
func (r *Request) checkLimits() error {
	fields := r.parameterFields()
	_, versioned := fields["url"]
	_, named := fields["name"]
	switch {
	case len(r.Query.Where) > MaxWhere:
		return invalidError("the condition has %d bytes, at most %d are allowed: it", len(r.Query.Where), MaxWhere)
	case len(r.Query.OrderBy) > MaxOrder:
		return invalidError("the order has %d bytes, at most %d are allowed: it", len(r.Query.OrderBy), MaxOrder)
	case len(r.Meta.URL) > MaxURL || len(r.Meta.CommitTag) > MaxName:
		return invalidError("the URL or the commit tag of the version is too long: it")
	case versioned && (r.Meta.URL == "" || r.Meta.CommitTag == ""):
		return invalidError("a version is identified by url and commitTag, one is missing: the request")
	case r.Query.Limit < 0 || r.Query.Limit > MaxLimit || r.Limit < 0 || r.Limit > MaxLimit:
		return invalidError("the limit must be 0 to %d: it", MaxLimit)
	case r.After < FromNow || r.Kind == Commits && r.After < 0:
		return invalidError("after must be the number of a commit, or 0: it")
	case named && (r.Kind == Open || r.Kind == Create):
		return CheckName(r.Name)
	case named && (r.Name == "" || len(r.Name) > MaxName):
		return invalidError("the name of a tag has 1 to %d bytes: it", MaxName)
	}
	return nil
}

func invalidError(format string, args ...any) error {
	return fmt.Errorf(format+" %w", append(args, archive.ErrInvalid)...)
}

// CheckName checks the name of a file: a relative path with slashes, in UTF-8, without control
// characters, that stays in its folder. The store has further rules.
func CheckName(name string) error {
	control := strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\\' })
	if !fs.ValidPath(name) || name == "." || control || len(name) > MaxName {
		return invalidError("file name %.100q: a name is a relative path of at most %d bytes, with slashes, without . and ..: it", name, MaxName)
	}
	return nil
}

// Failure is the body of an answer of the kind Failed.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Errors that only a server with clients has.
var (
	ErrDenied   = errors.New("access is denied")
	ErrBusy     = errors.New("the server has too many observers; try again later")
	ErrTooLarge = errors.New("is larger than the server accepts")
	ErrInternal = errors.New("the server failed; its log has the cause")
)

// codes are the errors that keep their meaning on the way to the client, with their HTTP status.
var codes = []struct {
	code   string
	err    error
	status int
}{
	{"notfound", archive.ErrNotFound, http.StatusNotFound},
	{"exists", archive.ErrExists, http.StatusConflict},
	{"outdated", archive.ErrOutdated, http.StatusGone},
	{"toolarge", ErrTooLarge, http.StatusRequestEntityTooLarge},
	{"invalid", archive.ErrInvalid, http.StatusBadRequest},
	{"denied", ErrDenied, http.StatusUnauthorized},
	{"busy", ErrBusy, http.StatusServiceUnavailable},
	{"internal", ErrInternal, http.StatusInternalServerError},
}

// FailureOf returns the answer for an error. The message of an unknown error stays at the server.
func FailureOf(err error) (f Failure, status int) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return Failure{c.code, err.Error()}, c.status
		}
	}
	return Failure{"internal", ErrInternal.Error()}, http.StatusInternalServerError
}

// Err returns the error of a failure: it has the message, and is that of the code for errors.Is.
func (f Failure) Err() error {
	for _, c := range codes {
		if c.code == f.Code {
			return &remoteError{f.Message, c.err}
		}
	}
	return &remoteError{f.Message, ErrInternal}
}

// Answered reports whether err is the answer of a server, and not that of a connection.
func Answered(err error) bool {
	_, is := errors.AsType[*remoteError](err)
	return is
}

// remoteError is an error of the other side.
type remoteError struct {
	message string
	kind    error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.kind }

// ServerState is the answer to Status.
type ServerState struct {
	Observers []ObserverState `json:"observers"`
	Number    int64           `json:"number"`   // of the last commit that the notifier has seen
	Searched  string          `json:"searched"` // time of its last search, archive.TimeFormat; "" before the first
	Interval  float64         `json:"interval"` // between two searches, in seconds
}

// ObserverState is one registered client.
type ObserverState struct {
	Address  string `json:"address"`
	Since    string `json:"since"` // archive.TimeFormat
	Position int64  `json:"position"`
}
