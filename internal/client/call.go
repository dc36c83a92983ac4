package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/bus"
	"hce/dc/internal/dc"
)

// Exit codes of dc-client; error_code of the answer is the same (objects 6.3).
const (
	ExitOK        = 0
	ExitRefused   = 1 // wrong input, or no answer in time
	ExitArguments = 2
	ExitTransport = 3
	ExitObject    = 4
	ExitFailure   = 5
)

// Call is one operation for the daemon.
type Call struct {
	Op     dc.Op
	Object json.RawMessage
	Merge  *bool // nil leaves it to the service
	Server Server
}

// Outcome is what dc-client prints and exits with.
type Outcome struct {
	JSON any
	Exit int
}

// Failure is the empty response with the client's own error (objects 3.1).
func Failure(code int, message string) Outcome {
	return Outcome{Exit: code, JSON: map[string]any{
		"errorCode": 0, "errorMessage": "", "itemsList": []any{}, "error_code": code, "error_message": message,
	}}
}

// Do sends the operation and gives the daemon's answer, or the failure.
func (c Call) Do(ctx context.Context) Outcome {
	if err := Check(c.Op, c.Object); err != nil {
		return Failure(ExitRefused, "DCC exception msg="+err.Error())
	}
	b, err := bus.New()
	if err != nil {
		return Failure(ExitRefused, "Connection error: "+err.Error())
	}
	defer b.Term(0)
	e := dc.Event{Class: dc.ClassClient, UID: bus.NewUID(), Type: int(c.Op), Object: c.Object}
	if c.Merge != nil {
		e.Cookie = map[string]json.RawMessage{"MERGE_RESULTS": json.RawMessage("0")}
		if *c.Merge {
			e.Cookie["MERGE_RESULTS"] = json.RawMessage("1")
		}
	}
	answer, err := c.Server.ask(ctx, b, e)
	switch {
	case errors.Is(err, errTimeout):
		return Failure(ExitRefused, fmt.Sprintf("Network communicate timeout=%d mls: no answer from %s:%d; does dc-daemon run there?",
			c.Server.Timeout.Milliseconds(), c.Server.Host, c.Server.Port))
	case errors.Is(err, errAddress):
		return Failure(ExitFailure, err.Error())
	case err != nil:
		return Failure(ExitTransport, "Error: "+err.Error())
	}
	var shape struct {
		ItemsList *[]json.RawMessage `json:"itemsList"`
	}
	if answer.Type != e.Type+dc.ResponseOffset || json.Unmarshal(answer.Object, &shape) != nil || shape.ItemsList == nil {
		return Failure(ExitRefused, fmt.Sprintf("Wrong Response eventObject type for %s must be ClientResponse", c.Op))
	}
	return Outcome{JSON: answer.Object}
}

// Check refuses an object that cannot be op's request: wrong shape, wrong types,
// missing fields. Of operations that dc has no reader for only the shape is
// checked: an object, or a list of them.
func Check(op dc.Op, raw json.RawMessage) error {
	var err error
	switch op {
	case dc.SiteNew:
		_, err = dc.ReadSiteNew(raw, nil)
	case dc.SiteStatus:
		_, err = dc.ReadSiteStatus(raw, nil)
	case dc.SiteFind:
		_, err = dc.ReadSiteFind(raw, nil)
	case dc.SiteDelete:
		_, err = dc.ReadSiteDelete(raw, nil)
	case dc.SiteCleanup:
		_, err = dc.ReadSiteCleanup(raw, nil)
	case dc.URLNew:
		_, err = dc.ReadURLNew(raw, nil)
	case dc.URLStatus:
		_, err = dc.ReadURLStatus(raw, nil)
	case dc.URLUpdate:
		_, err = dc.ReadURLUpdate(raw, nil)
	case dc.URLFetch:
		_, err = dc.ReadURLFetch(raw, nil)
	case dc.URLContent:
		_, err = dc.ReadURLContent(raw, nil)
	case dc.BatchRun:
		_, err = dc.ReadBatch(raw, nil)
	default:
		err = checkShape(op, raw)
	}
	return err
}

func checkShape(op dc.Op, raw json.RawMessage) error {
	var object map[string]json.RawMessage
	if !op.ListRequest() {
		if json.Unmarshal(raw, &object) != nil || object == nil {
			return &dc.FieldError{Object: op.String(), Reason: "is not an object"}
		}
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return &dc.FieldError{Object: op.String(), Reason: "is not a list"}
	}
	for i, element := range list {
		if json.Unmarshal(element, &object) != nil {
			return &dc.FieldError{Object: fmt.Sprintf("%s[%d]", op, i), Reason: "is not an object"}
		}
	}
	return nil
}
