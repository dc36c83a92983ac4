package storage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// urlPut answers URL_PUT (docs/spec/storage.md 4.16): one answer per URL that an element
// selects. A refused content does not stop the others. All files of a request have the
// same time in their names.
func (repo *Repository) urlPut(ctx context.Context, list []wire.URLPutRequest) (any, error) {
	for i, r := range list {
		if r.URLMd5 != "" {
			continue
		}
		if err := repo.Select(fmt.Sprintf("URLPutObj[%d]", i), r.SiteID, r.Criterion).Check(ctx); err != nil {
			return nil, err
		}
	}
	w, err := repo.newWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { w.stage.Abort() }() // commit replaces it
	for i := range list {
		if list[i].SiteID, err = repo.StoredID(ctx, list[i].SiteID); err != nil {
			return nil, err
		}
		if r := list[i]; r.ContentType == wire.ContentRaw && r.Suffix == "" && r.URLMd5 != "" {
			w.raw[sqlstore.Key{SiteID: r.SiteID, URLMd5: r.URLMd5}] = true // for the names of its companions
		}
	}
	answers := []wire.URLPutResponse{}
	for i, r := range list {
		more, err := w.storeElement(ctx, fmt.Sprintf("URLPutObj[%d]", i), r)
		if err != nil {
			return nil, err
		}
		answers = append(answers, more...)
	}
	return answers, w.commitPending(ctx)
}

// writer stores the contents of URL_PUT in groups: raw files with one sync, processed
// contents with one transaction per site.
type writer struct {
	repo    *Repository
	at      time.Time
	stage   *segments.Stage
	pending int
	raw     map[sqlstore.Key]bool   // URLs with a new version of the page in this request
	fresh   map[string][]string     // keys of URLs with a new raw file, by site
	entries map[string][]wire.Entry // by site
}

// writerRoom limits the contents that wait for a commit.
const writerRoom = 1000

// newWriter empties the trash first, so that a pending deletion does not remove the new
// contents.
func (repo *Repository) newWriter(ctx context.Context) (*writer, error) {
	w := &writer{repo: repo, at: repo.Now(), stage: repo.Raw.Stage(), raw: map[sqlstore.Key]bool{}, fresh: map[string][]string{}, entries: map[string][]wire.Entry{}}
	return w, repo.EmptyTrash(ctx)
}

// storeElement stores the content of one element for each URL that the element selects.
func (w *writer) storeElement(ctx context.Context, object string, r wire.URLPutRequest) ([]wire.URLPutResponse, error) {
	answer := func(err error) wire.URLPutResponse {
		a := wire.URLPutResponse{ContentType: r.ContentType}
		if err != nil {
			a.ErrCode, a.ErrMessage = wire.CodeFailed, err.Error()
		}
		return a
	}
	switch {
	case r.PutDict.Data == nil:
		return []wire.URLPutResponse{answer(&lenient.FieldError{Object: object + ".putDict", Field: "data", Reason: "is missing"})}, nil
	case r.URLMd5 != "":
		if here, err := w.repo.storesHere(ctx, r); err != nil || !here {
			return []wire.URLPutResponse{answer(nil)}, err
		}
		refusal, err := w.addContent(ctx, r, r.URLMd5)
		return []wire.URLPutResponse{answer(refusal)}, err
	case r.Criterion.Empty():
		return []wire.URLPutResponse{answer(&lenient.FieldError{Object: object, Field: "urlMd5", Reason: "is missing, and so is a clause of criterions"})}, nil
	}
	var answers []wire.URLPutResponse
	selection := w.repo.Select(object, r.SiteID, r.Criterion)
	for {
		md5s, err := selection.Next(ctx)
		if err != nil || len(md5s) == 0 {
			return answers, err
		}
		for _, md5 := range md5s {
			refusal, err := w.addContent(ctx, r, md5)
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer(refusal))
		}
	}
}

// addContent adds one content. refusal concerns only this content; err ends the request.
func (w *writer) addContent(ctx context.Context, r wire.URLPutRequest, md5 string) (refusal, err error) {
	if r.ContentType == wire.ContentProcessed {
		e := wire.Entry{ID: r.PutDict.ID, Data: []byte(*r.PutDict.Data)}
		if e.ID == "" {
			e.ID = md5
		}
		e.CDate, _ = r.PutDict.CDate.Time()
		w.entries[r.SiteID] = append(w.entries[r.SiteID], e)
	} else if err := w.stageFile(ctx, r, md5); errors.Is(err, rawfiles.ErrTooLarge) || errors.Is(err, rawfiles.ErrName) {
		return err, nil
	} else if err != nil {
		return nil, err
	}
	if w.pending++; w.pending < writerRoom {
		return nil, nil
	}
	return nil, w.commitPending(ctx)
}

// stageFile stages a raw file. Companions of a page (headers, request, meta, cookies) get the
// name of the newest page without suffix, because readers look for that name. Other files
// are named by the time (docs/spec/DECISIONS.md 5.2).
func (w *writer) stageFile(ctx context.Context, r wire.URLPutRequest, md5 string) error {
	kind, data := rawfiles.Kind(r.ContentType), decodeBase64(*r.PutDict.Data)
	if r.Suffix != "" {
		return w.stage.PutLabelled(r.SiteID, md5, r.Suffix, kind, data)
	}
	switch kind {
	case rawfiles.Raw:
		w.raw[sqlstore.Key{SiteID: r.SiteID, URLMd5: md5}] = true
		w.fresh[r.SiteID] = append(w.fresh[r.SiteID], md5)
	case rawfiles.Headers, rawfiles.Requests, rawfiles.Meta, rawfiles.Cookies:
		if w.raw[sqlstore.Key{SiteID: r.SiteID, URLMd5: md5}] {
			break
		}
		pages, err := w.repo.Raw.Versions(ctx, r.SiteID, md5, rawfiles.Raw)
		if err != nil {
			return err
		}
		for i := len(pages) - 1; i >= 0; i-- {
			if pages[i].Label() == "" {
				return w.stage.PutLabelled(r.SiteID, md5, pages[i].Name, kind, data)
			}
		}
	}
	return w.stage.Put(r.SiteID, md5, w.at, kind, data)
}

// commitPending stores all pending contents. The writer can be used again.
func (w *writer) commitPending(ctx context.Context) error {
	if err := w.stage.Commit(ctx); err != nil {
		return fmt.Errorf("store raw files: %w", err)
	}
	w.stage = w.repo.Raw.Stage()
	for site, entries := range w.entries {
		if _, err := w.repo.Contents.PutAll(ctx, site, entries); err != nil {
			return fmt.Errorf("store processed contents of site %s: %w", site, err)
		}
	}
	for site, md5s := range w.fresh {
		surplus, err := w.repo.Raw.TrimNow(ctx, site, md5s)
		if err != nil {
			return fmt.Errorf("remove old raw versions of site %s: %w", site, err)
		}
		w.repo.removeFiles(site, surplus)
	}
	clear(w.entries)
	clear(w.fresh)
	w.pending = 0
	return nil
}

// isPut reports whether raw is an object. Old clients send placeholders.
func isPut(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// checkPut refuses an invalid URL_PUT inside another operation, before any change. The
// site of the URL may still be unknown.
func checkPut(name string, raw json.RawMessage, md5 string) error {
	if !isPut(raw) {
		return nil
	}
	_, err := wire.ReadURLPutObject(name, raw, wire.GeneralSite, md5)
	return err
}

// putContent stores the content of a URL_PUT inside another operation. A null site or key means
// that of the URL.
func (repo *Repository) putContent(ctx context.Context, name string, raw json.RawMessage, site, md5 string) error {
	if !isPut(raw) {
		return nil
	}
	r, err := wire.ReadURLPutObject(name, raw, site, md5)
	if err != nil {
		return err
	}
	if r.SiteID, err = repo.StoredID(ctx, r.SiteID); err != nil {
		return err
	}
	w, err := repo.newWriter(ctx)
	if err != nil {
		return err
	}
	defer func() { w.stage.Abort() }() // commit replaces it
	refusal, err := w.addContent(ctx, r, r.URLMd5)
	if err = errors.Join(refusal, err); err != nil {
		return err
	}
	return w.commitPending(ctx)
}

// decodeBase64 decodes base64. It returns a text that is not base64 unchanged. Like the
// original, it ignores characters outside the alphabet; only an incomplete last group
// makes a text invalid (docs/spec/objects.md 2.9). The = that complete a group end the text.
func decodeBase64(text string) []byte {
	digits, closed := make([]byte, 0, len(text)), false
	for missing, i := 0, 0; i < len(text) && !closed; i++ {
		switch c := text[i]; {
		case c == '=':
			missing--
			closed = len(digits)%4 >= 2 && missing <= 0
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '/':
			digits = append(digits, c)
			missing = 4 - len(digits)%4
		}
	}
	data, err := base64.RawStdEncoding.DecodeString(string(digits))
	if err != nil || len(digits)%4 != 0 && !closed {
		return []byte(text)
	}
	return data
}
