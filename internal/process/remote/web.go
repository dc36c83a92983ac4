// Package remote reads what the properties of a site name elsewhere: templates
// (TEMPLATE_SOURCE) and where links lead (LINK_RESOLVE).
//
//	reader := &remote.Reader{Web: client, Config: cfg, Now: time.Now, Log: log}
//	batch := reader.Batch()                             // one for each batch
//	answers := batch.Templates(ctx, &page, sources)
//	found, faults := batch.Links(ctx, &page, rules, links)
//
// A fault concerns one source or link of one page, never the batch. The rules are in packages
// template and linkresolve; requests are in Web. Source: docs/spec/processing.md 3.8, 4.5.
package remote

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hce/dc/internal/process/template"
)

// Web sends requests. An implementation keeps the egress guard and politeness.
type Web interface {
	// Get sends a request and follows its redirects. Any status is an answer.
	Get(ctx context.Context, r Request) (Answer, error)
}

// Request is one request.
type Request struct {
	URL, Method string
	Header      []template.Header
	Body        string
	MaxBytes    int64 // of the body of the answer; 0: it is not read
	Cut         bool  // a longer body is cut; else it is an error
	Access
}

// Methods of requests.
const (
	methodGet  = "GET"
	methodPost = "POST"
)

// Codes of answers.
const (
	codeError       = 400 // the first one
	codeNoMethod    = 405
	codeUnknownVerb = 501
)

// Access is how a site requests hosts.
type Access struct {
	Delay       time.Duration // between two requests to a host
	InsecureTLS bool          // TLSVerify is 0
	Robots      bool          // robots.txt decides
}

// Answer is the answer to a request.
type Answer struct {
	URL  string // the last one
	Code int
	Body []byte
}

// Config holds the settings of processor-task.ini.
type Config struct {
	TemplateDir    string        // of sources that are files; "": none is read
	StateDir       string        // of schedules
	MaxTemplate    int64         // bytes of a template
	KeepTime       time.Duration // of answers and faults
	MaxPageLinks   int           // requested links of a page
	MaxBatchLinks  int           // requested links of a batch
	MaxResolveBody int64         // bytes of the body of a link that are read
}

// Reader reads templates and links for all batches of a process. Goroutines may share it.
type Reader struct {
	Web    Web
	Config Config
	Now    func() time.Time
	Log    *slog.Logger

	templates kept[string]
	links     kept[string]
}

// Batch is what one batch reads. Goroutines may share it.
type Batch struct {
	*Reader
	trial bool // schedules stay as they are

	mu        sync.Mutex
	due       map[string]bool // schedules that this batch has used or found not due
	requested int             // links
}

// Batch returns the state of a new batch.
func (r *Reader) Batch() *Batch { return &Batch{Reader: r, due: map[string]bool{}} }

// Trial returns the state of a batch that leaves the schedules of sources as they are: a source that is
// due does not count as used.
func (r *Reader) Trial() *Batch {
	b := r.Batch()
	b.trial = true
	return b
}

// Page is the page that is processed.
type Page struct {
	Site, URL string
	Root      bool // it has no parent
	Text      []byte
	Access    Access
}

// maxKept bounds the kept answers. A full cache is cleared.
const maxKept = 256

// kept keeps answers and faults for a while. One goroutine asks for a key, others wait.
type kept[T any] struct {
	mu      sync.Mutex
	entries map[string]*entry[T]
}

type entry[T any] struct {
	mu    sync.Mutex // held while it is asked for
	ends  time.Time
	value T
	err   error
}

// getOrAsk returns the kept value of a key, or that of ask. An error after the end of ctx is not kept.
func (k *kept[T]) getOrAsk(ctx context.Context, key string, now func() time.Time, keep time.Duration, ask func() (T, error)) (T, error) {
	k.mu.Lock()
	e := k.entries[key]
	if e == nil {
		if k.entries == nil || len(k.entries) >= maxKept {
			k.entries = map[string]*entry[T]{}
		}
		e = &entry[T]{}
		k.entries[key] = e
	}
	k.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if now().Before(e.ends) {
		return e.value, e.err
	}
	value, err := ask()
	if ctx.Err() == nil {
		e.value, e.err, e.ends = value, err, now().Add(keep)
	}
	return value, err
}
