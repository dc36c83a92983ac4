// Package actions is what people and programs do with sites and pages: the same functions for the API, its clients, models and
// the commands of hce. They ask a service, which is a daemon or the stores of a folder.
//
//	a := actions.Actions{Service: daemon}
//	site, err := a.CreateSite(ctx, actions.NewSite{Roots: []string{"https://example.org/"}})
//	page, err := a.Page(ctx, site.ID, wire.Md5("https://example.org/"), []string{"title", "markdown"})
//
// Objects are plain JSON: texts are UTF-8, times are RFC 3339 in UTC, sizes are bytes, keys of pages are the md5 of their URL.
package actions

import (
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire/schema"
)

// Actions acts on the sites of a service. Goroutines may share it.
type Actions struct {
	Service   service.Service
	NoCrawler string // why nothing crawls new sites, for a person; "": a daemon does
}

// Invalid says that what a person asks for is wrong, and what to do.
type Invalid struct {
	Field   string // path of the value, such as "settings.depth"; "" for the whole
	Value   any    // nil: not shown
	Message string
}

// Error names the field, the value and the reason.
func (i *Invalid) Error() string {
	switch {
	case i.Field == "":
		return i.Message
	case i.Value == nil:
		return i.Field + ": " + i.Message
	}
	return fmt.Sprintf("%s %v: %s", i.Field, i.Value, i.Message)
}

// NotFound says that there is no such object.
type NotFound struct {
	What, Name string // such as "site" and its id
}

// Error names the object.
func (n *NotFound) Error() string { return fmt.Sprintf("%s %s is not known", n.What, n.Name) }

// Conflict says that the present state of an object forbids the action.
type Conflict struct{ Message string }

// Error is the reason.
func (c *Conflict) Error() string { return c.Message }

// isPartial reports whether an answer has the parts of some nodes only. Its object is usable.
func isPartial(err error) bool {
	_, part := errors.AsType[*service.Incomplete](err)
	return part
}

// timeOf returns a date of a row, nil without one.
func timeOf(d schema.Date) *time.Time {
	if t, ok := d.Time(); ok {
		return &t
	}
	return nil
}
