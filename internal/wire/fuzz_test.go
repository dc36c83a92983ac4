package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// readers read and check the request of each operation. The first byte of an input of
// FuzzRequests is the index, so new readers go to the end.
var readers = []struct {
	op   Op
	read func(json.RawMessage) error
}{
	{SiteNew, siteNew},
	{URLNew, urlNew},
	{BatchRun, batch},
	{SiteUpdate, one(ReadSiteUpdate, SiteUpdateRequest.Check)},
	{SiteStatus, one(ReadSiteStatus, nil)},
	{SiteFind, one(ReadSiteFind, nil)},
	{SiteDelete, one(ReadSiteDelete, nil)},
	{SiteCleanup, one(ReadSiteCleanup, nil)},
	{URLStatus, many(ReadURLStatus, URLStatusRequest.Check)},
	{URLUpdate, many(ReadURLUpdate, URLUpdateRequest.Check)},
	{URLFetch, many(ReadURLFetch, URLFetchRequest.Check)},
	{URLContent, many(ReadURLContent, URLContentRequest.Check)},
	{URLDelete, many(ReadURLDelete, URLDeleteRequest.Check)},
	{URLCleanup, many(ReadURLCleanup, URLCleanupRequest.Check)},
	{URLPurge, many(ReadURLPurge, URLPurgeRequest.Check)},
	{URLAge, one(ReadURLAge, nil)},
	{URLPut, many(ReadURLPut, URLPutRequest.Check)},
	{URLVerify, many(ReadURLVerify, URLVerifyRequest.Check)},
	{URLHistory, many(ReadURLHistory, URLRecordsRequest.Check)},
	{URLStats, many(ReadURLStats, URLRecordsRequest.Check)},
	{FieldRecalc, many(ReadRecalc, RecalcRequest.Check)},
	{SQLCustom, one(ReadCustom, nil)},
	{ProxyNew, many(named("ProxyNew", ReadProxies), ProxyRequest.Check)},
	{ProxyUpdate, many(named("ProxyUpdate", ReadProxies), ProxyRequest.Check)},
	{ProxyDelete, many(named("ProxyDelete", ReadProxySelections), ProxySelection.Check)},
	{ProxyStatus, many(named("ProxyStatus", ReadProxySelections), ProxySelection.Check)},
	{ProxyFind, many(named("ProxyFind", ReadProxyFind), ProxyFindRequest.Check)},
	{AttributeSet, many(named("AttributeSet", ReadAttributes), AttributeRequest.Check)},
	{AttributeFetch, many(named("AttributeFetch", ReadAttributeSelections), AttributeRequest.Check)},
}

// named binds the name that errors give to the list.
func named[T any](object string, read func(string, json.RawMessage, *lenient.Notes) (T, error)) func(json.RawMessage, *lenient.Notes) (T, error) {
	return func(raw json.RawMessage, n *lenient.Notes) (T, error) { return read(object, raw, n) }
}

// one combines a reader and its check, which may be nil.
func one[T any](read func(json.RawMessage, *lenient.Notes) (T, error), check func(T) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		r, err := read(raw, &lenient.Notes{})
		if err == nil && check != nil {
			err = check(r)
		}
		return err
	}
}

// many combines a reader of a list and the check of its elements.
func many[T any](read func(json.RawMessage, *lenient.Notes) ([]T, error), check func(T, string) error) func(json.RawMessage) error {
	return one(read, func(list []T) error {
		for i, r := range list {
			if err := check(r, fmt.Sprintf("[%d]", i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// withoutSamples are the operations that testdata/requests has no folder for.
var withoutSamples = map[Op]bool{URLPurge: true, URLAge: true, URLVerify: true, FieldRecalc: true, AttributeSet: true, AttributeFetch: true}

// invalidKeys are the samples with an id or a key of 35 characters (docs/spec/DECISIONS.md 4). Only
// their elements are refused.
var invalidKeys = []string{"URL_DELETE/id_too_long.json", "URL_DELETE/one_bad_key.json"}

// All sample requests are accepted, except those with invalid ids or keys.
func TestSampleRequests(t *testing.T) {
	for _, r := range readers {
		samples, err := filepath.Glob(filepath.Join("testdata", "requests", r.op.String(), "*.json"))
		if err != nil || (len(samples) == 0) != withoutSamples[r.op] {
			t.Errorf("%d samples of %s: %v", len(samples), r.op, err)
		}
		for _, sample := range samples {
			raw, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			name := r.op.String() + "/" + filepath.Base(sample)
			if err := r.read(bytes.TrimSpace(raw)); (err != nil) != slices.Contains(invalidKeys, name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// No request makes a reader panic. Each error names the object and the reason, in at most
// 2000 bytes.
func FuzzRequests(f *testing.F) {
	for i := range readers {
		for _, s := range []string{`{"id":"a","urls":["u"]}`, `[{"url":"u","siteId":null,"attributes":[{"a":1}]}]`, `null`, `[null]`, `[[]]`, `7`} {
			f.Add(append([]byte{byte(i)}, s...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || !json.Valid(b[1:]) {
			return
		}
		var raw json.RawMessage // readers get JSON without surrounding spaces
		if json.Unmarshal(b[1:], &raw) != nil {
			return
		}
		r := readers[int(b[0])%len(readers)]
		err := r.read(raw)
		var field *lenient.FieldError
		if err != nil && (!errors.As(err, &field) || field.Object == "" || field.Reason == "") {
			t.Errorf("%s of %s: error %q has no object or reason", r.op, raw, err)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%s: error of %d bytes", r.op, len(err.Error()))
		}
	})
}

// Frame writes each event that ParseEvent accepts without changing it.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{`{"class":"client","uid":"a","eventType":1,"eventObj":{"id":"<ü>"},"cookie":{"MERGE_RESULTS":1}}`,
		`{"class":"admin","uid":"0-_","eventType":1024}`, `{"class":"internal","uid":"a","eventObj":null,"cookie":{}}`, `{"class":"x","uid":"a"}`, `[]`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseEvent(b)
		if err != nil {
			return
		}
		frame, err := e.Frame()
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		again, err := ParseEvent(frame)
		if err != nil {
			t.Fatalf("%s becomes %s: %v", b, frame, err)
		}
		if again.Class != e.Class || again.UID != e.UID || again.Type != e.Type || !sameJSON(again.Object, e.Object) || len(again.Cookie) != len(e.Cookie) {
			t.Errorf("%s becomes %s", b, frame)
		}
		for key, value := range e.Cookie {
			if !sameJSON(again.Cookie[key], value) {
				t.Errorf("cookie %q of %s becomes %s", key, b, again.Cookie[key])
			}
		}
	})
}

func sameJSON(a, b json.RawMessage) bool {
	if schema.IsNull(a) || schema.IsNull(b) {
		return schema.IsNull(a) && schema.IsNull(b)
	}
	var x, y any
	return bytes.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Both fuzz targets have their corpus: go test does not report a missing folder.
func TestFuzzCorpus(t *testing.T) {
	for target, least := range map[string]int{"FuzzRequests": len(readers), "FuzzEvent": 3} {
		files, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
		if err != nil || len(files) < least {
			t.Fatalf("%s has %d inputs: %v", target, len(files), err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "go test fuzz v1\n") {
				t.Errorf("%s is not a fuzz input: %v", file, err)
			}
		}
	}
}
