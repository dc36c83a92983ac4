package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Exit codes of dc-client, equal to error_code of the answer (docs/spec/objects.md 6.3).
const (
	ExitOK        = 0
	ExitRefused   = 1 // wrong input, or no answer in time
	ExitArguments = 2
	ExitTransport = 3
	ExitFailure   = 5
)

// Call is one operation that is sent to the daemon.
type Call struct {
	Op     wire.Op
	Object json.RawMessage
	Merge  *bool // merge the answers of several nodes; nil: the service decides
	Server Server
}

// Outcome is the output and the exit code of dc-client or dc-admin.
type Outcome struct {
	JSON any
	Exit int
}

// Failure is an empty response with an error of the client (docs/spec/objects.md 3.1).
func Failure(code int, message string) Outcome {
	return Outcome{Exit: code, JSON: map[string]any{
		"errorCode": 0, "errorMessage": "", "itemsList": []any{}, "error_code": code, "error_message": message,
	}}
}

// Do sends the operation and returns the daemon's answer, or a failure.
func (c Call) Do(ctx context.Context) Outcome {
	if err := Check(c.Op, c.Object); err != nil {
		return Failure(ExitRefused, "DCC exception msg="+err.Error())
	}
	b, err := bus.New()
	if err != nil {
		return Failure(ExitRefused, "Connection error: "+err.Error())
	}
	defer b.Term(0)
	e := wire.Event{Class: wire.ClassClient, UID: bus.NewUID(), Type: int(c.Op), Object: c.Object}
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
	if answer.Type != e.Type+wire.ResponseOffset || json.Unmarshal(answer.Object, &shape) != nil || shape.ItemsList == nil {
		return Failure(ExitRefused, fmt.Sprintf("Wrong Response eventObject type for %s must be ClientResponse", c.Op))
	}
	return Outcome{JSON: answer.Object}
}

// Check returns an error if raw cannot be a request of op: wrong shape, wrong types or
// missing fields.
func Check(op wire.Op, raw json.RawMessage) error {
	read, ok := readers[op]
	if !ok {
		return fmt.Errorf("%s is not an operation of clients", op)
	}
	return read(raw)
}

// readers parse the request of each operation.
var readers = map[wire.Op]func(json.RawMessage) error{
	wire.SiteNew: reads(wire.ReadSiteNew), wire.SiteUpdate: reads(wire.ReadSiteUpdate), wire.SiteStatus: reads(wire.ReadSiteStatus),
	wire.SiteFind: reads(wire.ReadSiteFind), wire.SiteDelete: reads(wire.ReadSiteDelete), wire.SiteCleanup: reads(wire.ReadSiteCleanup),
	wire.URLNew: reads(wire.ReadURLNew), wire.URLStatus: reads(wire.ReadURLStatus), wire.URLUpdate: reads(wire.ReadURLUpdate),
	wire.URLFetch: reads(wire.ReadURLFetch), wire.URLContent: reads(wire.ReadURLContent), wire.URLDelete: reads(wire.ReadURLDelete),
	wire.URLCleanup: reads(wire.ReadURLCleanup), wire.URLPurge: reads(wire.ReadURLPurge), wire.URLAge: reads(wire.ReadURLAge),
	wire.URLPut: reads(wire.ReadURLPut), wire.URLVerify: reads(wire.ReadURLVerify), wire.URLHistory: reads(wire.ReadURLHistory),
	wire.URLStats: reads(wire.ReadURLStats), wire.FieldRecalc: reads(wire.ReadRecalc), wire.SQLCustom: reads(wire.ReadCustom),
	wire.ProxyNew: readsAs("ProxyNew", wire.ReadProxies), wire.ProxyUpdate: readsAs("ProxyUpdate", wire.ReadProxies),
	wire.ProxyDelete: readsAs("ProxyDelete", wire.ReadProxySelections), wire.ProxyStatus: readsAs("ProxyStatus", wire.ReadProxySelections),
	wire.ProxyFind:    readsAs("ProxyFind", wire.ReadProxyFind),
	wire.AttributeSet: readsAs("AttributeSet", wire.ReadAttributes), wire.AttributeUpdate: readsAs("AttributeUpdate", wire.ReadAttributes),
	wire.AttributeDelete: readsAs("AttributeDelete", wire.ReadAttributeSelections), wire.AttributeFetch: readsAs("AttributeFetch", wire.ReadAttributeSelections),
	wire.BatchRun: reads(wire.ReadBatch),
}

func reads[R any](read func(json.RawMessage, *wire.Notes) (R, error)) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		_, err := read(raw, nil)
		return err
	}
}

// readsAs is reads for a reader of several operations; object is the name of the list in
// errors.
func readsAs[R any](object string, read func(string, json.RawMessage, *wire.Notes) (R, error)) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		_, err := read(object, raw, nil)
		return err
	}
}
