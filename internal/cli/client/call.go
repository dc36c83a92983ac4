package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Call is one operation that is sent to the daemon.
type Call struct {
	Op     wire.Op
	Object json.RawMessage
	Merge  *bool // merge the answers of several nodes; nil: the service decides
	Server Server
}

// Do sends the operation and returns the daemon's answer, or a failure.
func (c Call) Do(ctx context.Context) Outcome {
	if err := Check(c.Op, c.Object, nil); err != nil {
		return RefusedRequest.Outcome(fmt.Sprintf("%s: %v", c.Op, err))
	}
	b, err := bus.New()
	if err != nil {
		return Unexpected.Outcome(err.Error())
	}
	defer b.Term(0)
	e := wire.Event{Class: wire.ClassClient, UID: bus.NewUID(), Type: int(c.Op), Object: c.Object}
	if c.Merge != nil {
		e.Cookie = map[string]json.RawMessage{"MERGE_RESULTS": json.RawMessage("0")}
		if *c.Merge {
			e.Cookie["MERGE_RESULTS"] = json.RawMessage("1")
		}
	}
	answer, err := c.Server.sendAndWait(ctx, b, e)
	switch {
	case ctx.Err() != nil:
		return Interrupted.Outcome("interrupted; the daemon may still do the work")
	case errors.Is(err, errTimeout), errors.Is(err, errAway), errors.Is(err, errKeys):
		return NoAnswer.Outcome(c.Server.explainExchange(err))
	case errors.Is(err, errAddress):
		return Unexpected.Outcome(err.Error())
	case err != nil:
		return Transport.Outcome(err.Error())
	}
	var shape struct {
		ItemsList *[]json.RawMessage `json:"itemsList"`
	}
	if answer.Type != e.Type+wire.ResponseOffset || json.Unmarshal(answer.Object, &shape) != nil || shape.ItemsList == nil {
		return NoAnswer.Outcome(fmt.Sprintf("the answer to %s is no ClientResponse; is %s:%d the client port of a dc-daemon?", c.Op, c.Server.Host, c.Server.Port))
	}
	return Outcome{JSON: answer.Object}
}

// Check returns an error if raw cannot be a request of op: wrong shape, wrong types or
// missing fields. It adds unknown keys to notes, which may be nil.
func Check(op wire.Op, raw json.RawMessage, notes *wire.Notes) error {
	read, ok := readers[op]
	if !ok {
		return fmt.Errorf("%s is not an operation of clients", op)
	}
	return read(raw, notes)
}

type reader func(json.RawMessage, *wire.Notes) error

// readers parse the request of each operation.
var readers = map[wire.Op]reader{
	wire.SiteNew: readerOf(wire.ReadSiteNew), wire.SiteUpdate: readerOf(wire.ReadSiteUpdate), wire.SiteStatus: readerOf(wire.ReadSiteStatus),
	wire.SiteFind: readerOf(wire.ReadSiteFind), wire.SiteDelete: readerOf(wire.ReadSiteDelete), wire.SiteCleanup: readerOf(wire.ReadSiteCleanup),
	wire.URLNew: readerOf(wire.ReadURLNew), wire.URLStatus: readerOf(wire.ReadURLStatus), wire.URLUpdate: readerOf(wire.ReadURLUpdate),
	wire.URLFetch: readerOf(wire.ReadURLFetch), wire.URLContent: readerOf(wire.ReadURLContent), wire.URLDelete: readerOf(wire.ReadURLDelete),
	wire.URLCleanup: readerOf(wire.ReadURLCleanup), wire.URLPurge: readerOf(wire.ReadURLPurge), wire.URLAge: readerOf(wire.ReadURLAge),
	wire.URLPut: readerOf(wire.ReadURLPut), wire.URLVerify: readerOf(wire.ReadURLVerify), wire.URLHistory: readerOf(wire.ReadURLHistory),
	wire.URLStats: readerOf(wire.ReadURLStats), wire.FieldRecalc: readerOf(wire.ReadRecalc), wire.SQLCustom: readerOf(wire.ReadCustom),
	wire.ProxyNew: readsAs("ProxyNew", wire.ReadProxies), wire.ProxyUpdate: readsAs("ProxyUpdate", wire.ReadProxies),
	wire.ProxyDelete: readsAs("ProxyDelete", wire.ReadProxySelections), wire.ProxyStatus: readsAs("ProxyStatus", wire.ReadProxySelections),
	wire.ProxyFind:    readsAs("ProxyFind", wire.ReadProxyFind),
	wire.AttributeSet: readsAs("AttributeSet", wire.ReadAttributes), wire.AttributeUpdate: readsAs("AttributeUpdate", wire.ReadAttributes),
	wire.AttributeDelete: readsAs("AttributeDelete", wire.ReadAttributeSelections), wire.AttributeFetch: readsAs("AttributeFetch", wire.ReadAttributeSelections),
	wire.BatchRun: readerOf(wire.ReadBatch),
}

func readerOf[R any](read func(json.RawMessage, *wire.Notes) (R, error)) reader {
	return func(raw json.RawMessage, notes *wire.Notes) error {
		_, err := read(raw, notes)
		return err
	}
}

// readsAs is reads for a reader of several operations; object is the name of the list in
// errors.
func readsAs[R any](object string, read func(string, json.RawMessage, *wire.Notes) (R, error)) reader {
	return func(raw json.RawMessage, notes *wire.Notes) error {
		_, err := read(object, raw, notes)
		return err
	}
}
