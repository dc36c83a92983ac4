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
		return Failure(ExitRefused, fmt.Sprintf("Network communicate timeout=%d mls: %s", c.Server.Timeout.Milliseconds(), c.Server.noAnswer("")))
	case errors.Is(err, errKeys):
		return Failure(ExitRefused, "Connection error: "+err.Error())
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
// missing fields.
func Check(op dc.Op, raw json.RawMessage) error {
	read, ok := readers[op]
	if !ok {
		return fmt.Errorf("%s is not an operation of clients", op)
	}
	return read(raw)
}

// readers read the request of each operation.
var readers = map[dc.Op]func(json.RawMessage) error{
	dc.SiteNew: reads(dc.ReadSiteNew), dc.SiteUpdate: reads(dc.ReadSiteUpdate), dc.SiteStatus: reads(dc.ReadSiteStatus),
	dc.SiteFind: reads(dc.ReadSiteFind), dc.SiteDelete: reads(dc.ReadSiteDelete), dc.SiteCleanup: reads(dc.ReadSiteCleanup),
	dc.URLNew: reads(dc.ReadURLNew), dc.URLStatus: reads(dc.ReadURLStatus), dc.URLUpdate: reads(dc.ReadURLUpdate),
	dc.URLFetch: reads(dc.ReadURLFetch), dc.URLContent: reads(dc.ReadURLContent), dc.URLDelete: reads(dc.ReadURLDelete),
	dc.URLCleanup: reads(dc.ReadURLCleanup), dc.URLPurge: reads(dc.ReadURLPurge), dc.URLAge: reads(dc.ReadURLAge),
	dc.URLPut: reads(dc.ReadURLPut), dc.URLVerify: reads(dc.ReadURLVerify), dc.URLHistory: reads(dc.ReadURLHistory),
	dc.URLStats: reads(dc.ReadURLStats), dc.FieldRecalc: reads(dc.ReadRecalc), dc.SQLCustom: reads(dc.ReadCustom),
	dc.ProxyNew: readsAs("ProxyNew", dc.ReadProxies), dc.ProxyUpdate: readsAs("ProxyUpdate", dc.ReadProxies),
	dc.ProxyDelete: readsAs("ProxyDelete", dc.ReadProxySelections), dc.ProxyStatus: readsAs("ProxyStatus", dc.ReadProxySelections),
	dc.ProxyFind:    readsAs("ProxyFind", dc.ReadProxyFind),
	dc.AttributeSet: readsAs("AttributeSet", dc.ReadAttributes), dc.AttributeUpdate: readsAs("AttributeUpdate", dc.ReadAttributes),
	dc.AttributeDelete: readsAs("AttributeDelete", dc.ReadAttributeSelections), dc.AttributeFetch: readsAs("AttributeFetch", dc.ReadAttributeSelections),
	dc.BatchRun: reads(dc.ReadBatch),
}

func reads[R any](read func(json.RawMessage, *dc.Notes) (R, error)) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		_, err := read(raw, nil)
		return err
	}
}

// readsAs is reads for a reader of several operations, which is told how errors
// call the list.
func readsAs[R any](object string, read func(string, json.RawMessage, *dc.Notes) (R, error)) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		_, err := read(object, raw, nil)
		return err
	}
}
