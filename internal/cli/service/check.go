package service

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// Check returns an error if raw cannot be a request of op: wrong shape, wrong types or
// missing fields. It adds unknown keys to notes, which may be nil.
func Check(op wire.Op, raw json.RawMessage, notes *lenient.Notes) error {
	read, ok := readers[op]
	if !ok {
		return fmt.Errorf("%s is not an operation of clients", op)
	}
	return read(raw, notes)
}

type reader func(json.RawMessage, *lenient.Notes) error

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

func readerOf[R any](read func(json.RawMessage, *lenient.Notes) (R, error)) reader {
	return func(raw json.RawMessage, notes *lenient.Notes) error {
		_, err := read(raw, notes)
		return err
	}
}

// readsAs is reads for a reader of several operations; object is the name of the list in
// errors.
func readsAs[R any](object string, read func(string, json.RawMessage, *lenient.Notes) (R, error)) reader {
	return func(raw json.RawMessage, notes *lenient.Notes) error {
		_, err := read(object, raw, notes)
		return err
	}
}
