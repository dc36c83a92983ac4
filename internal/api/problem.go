package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/process"
	"hce/dc/internal/wire"
)

// Problem is an error as RFC 9457 describes it. Each error names its place and what is wrong with it.
type Problem struct {
	Type   string              `json:"type" doc:"about:blank: the title says it all" example:"about:blank"`
	Title  string              `json:"title" example:"Unprocessable Entity"`
	Status int                 `json:"status" example:"422"`
	Detail string              `json:"detail,omitempty" doc:"what is wrong, for a person"`
	Remedy string              `json:"remedy,omitempty" doc:"what to do next"`
	Trace  string              `json:"trace,omitempty" doc:"names this request in the log of the daemon"`
	Errors []*huma.ErrorDetail `json:"errors,omitempty" doc:"each wrong value with its place"`
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of problems.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

func newProblem(status int, detail string, errs ...error) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Remedy: remedies[status]}
	for _, err := range errs {
		if d, ok := err.(huma.ErrorDetailer); ok {
			p.Errors = append(p.Errors, withShortValue(d.ErrorDetail()))
		} else if err != nil {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
		}
	}
	return p
}

// longestShown is the longest value that a problem repeats. Whole bodies may have secrets.
const longestShown = 200

// withShortValue leaves out a value that is an object, a list or a long text.
func withShortValue(d *huma.ErrorDetail) *huma.ErrorDetail {
	shown := *d
	switch v := d.Value.(type) {
	case nil, bool, float64, int, int64:
	case string:
		if len(v) > longestShown || strings.ContainsAny(v, "{[") {
			shown.Value = nil
		}
	default:
		shown.Value = nil
	}
	return &shown
}

// remedies say what to do about a status.
var remedies = map[int]string{
	http.StatusBadRequest:            "send one JSON object",
	http.StatusMethodNotAllowed:      "the header Allow has the methods of this address",
	http.StatusUnauthorized:          "send the header: Authorization: Bearer KEY; make a key on the machine of the daemon with: hce key new",
	http.StatusForbidden:             "use a key with a wider scope; see the keys with: hce key ls",
	http.StatusConflict:              "show it with GET; ask for its pages again with POST /v1/sites/ID/recrawl",
	http.StatusNotFound:              "check the id in the address",
	http.StatusRequestEntityTooLarge: "send less at once",
	http.StatusUnsupportedMediaType:  "send JSON with the header: Content-Type: application/json",
	http.StatusUnprocessableEntity:   "correct the values that errors names; the document is at /v1/openapi.json",
	http.StatusTooManyRequests:       "wait as long as the header Retry-After says",
	http.StatusServiceUnavailable:    "try again later",
	http.StatusGatewayTimeout:        "try again later",
}

// The library makes its own errors with this function, and documents lists as this variable says. They are set once: both are part of the
// document.
func init() {
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, detail string, errs ...error) huma.StatusError {
		return newProblem(status, detail, errs...)
	}
}

// problemOf returns the error of an action as a problem. method is that of the request.
func problemOf(err error, method string) error {
	if err == nil {
		return nil
	}
	if invalid, is := errors.AsType[*actions.Invalid](err); is {
		location := "body"
		if method == http.MethodGet {
			location = "query"
		}
		if invalid.Field != "" {
			location += "." + invalid.Field
		}
		return newProblem(http.StatusUnprocessableEntity, invalid.Error(), &huma.ErrorDetail{Message: invalid.Message, Location: location, Value: invalid.Value})
	}
	if missing, is := errors.AsType[*actions.NotFound](err); is {
		return newProblem(http.StatusNotFound, missing.Error())
	}
	if conflict, is := errors.AsType[*actions.Conflict](err); is {
		return newProblem(http.StatusConflict, conflict.Error())
	}
	if failure, is := errors.AsType[*actions.Failure](err); is {
		return failureProblem(failure)
	}
	if refusal, is := errors.AsType[*service.Refusal](err); is {
		return refusalProblem(refusal)
	}
	switch {
	case errors.Is(err, process.ErrBudget), errors.Is(err, process.ErrUnreadable):
		return newProblem(http.StatusBadGateway, err.Error())
	case errors.Is(err, service.ErrUnreachable):
		return newProblem(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusGatewayTimeout, "the request takes longer than it may")
	case errors.Is(err, context.Canceled):
		return newProblem(http.StatusServiceUnavailable, "the daemon stops, or the client has ended the request")
	}
	return err
}

// failureProblem says why a page could not be had.
func failureProblem(f *actions.Failure) *Problem {
	status := map[string]int{"forbidden": http.StatusForbidden, "guarded": http.StatusForbidden, "busy": http.StatusServiceUnavailable}[f.Reason]
	if status == 0 {
		status = http.StatusBadGateway
	}
	p := newProblem(status, f.Message)
	p.Remedy = map[string]string{
		"forbidden": "the host does not allow crawlers to ask for this page", "guarded": "only public addresses are asked; add a network to AllowedNetworks in [Api]",
		"busy": "try again later: the host is asked slowly",
	}[f.Reason]
	return p
}

// refusalProblem is a refusal of the managers. They refuse what does not fit before they act.
func refusalProblem(r *service.Refusal) *Problem {
	switch {
	case r.Code == wire.CodeNotFound, strings.Contains(r.Message, "not found"):
		return newProblem(http.StatusNotFound, r.Error())
	case strings.Contains(r.Message, "busy"), strings.Contains(r.Message, "the daemon stops"):
		return newProblem(http.StatusServiceUnavailable, r.Error())
	}
	return newProblem(http.StatusUnprocessableEntity, r.Error())
}
