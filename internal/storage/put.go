package storage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
)

// urlPut answers URL_PUT (docs/spec/storage.md 4.16): one answer per URL that an element
// means. A content that cannot be stored does not keep the others from it. The
// files of a request are of one moment.
func (repo *Repository) urlPut(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked(raw, n, "URLPutObj", wire.ReadURLPut)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if r.URLMd5 != "" {
			continue
		}
		if err := repo.Store.Select(fmt.Sprintf("URLPutObj[%d]", i), r.SiteID, r.Criterion).Check(ctx); err != nil {
			return nil, err
		}
	}
	w, err := repo.newWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { w.stage.Abort() }() // commit makes a new one
	for i := range list {
		if list[i].SiteID, err = repo.Store.StoredID(ctx, list[i].SiteID); err != nil {
			return nil, err
		}
		w.expect(list[i])
	}
	answers := []wire.URLPutResponse{}
	for i, r := range list {
		more, err := w.element(ctx, fmt.Sprintf("URLPutObj[%d]", i), r)
		if err != nil {
			return nil, err
		}
		answers = append(answers, more...)
	}
	return answers, w.commit(ctx)
}

// writer stores contents that URL_PUT brings: files together, made durable at
// once, and processed contents of a site together.
type writer struct {
	repo    *Repository
	at      time.Time
	stage   *rawfiles.Stage
	waiting int
	raw     map[sqlstore.Key]bool // URLs that get a new version of the page
	fresh   map[string][]string
	entries map[string][]wire.Entry
}

// writerRoom is how many contents wait at most to be made durable.
const writerRoom = 1000

// newWriter empties the trash first: what a deletion left there must not take
// along what is written now.
func (repo *Repository) newWriter(ctx context.Context) (*writer, error) {
	w := &writer{repo: repo, at: repo.Now(), stage: repo.Raw.Stage(), raw: map[sqlstore.Key]bool{}, fresh: map[string][]string{}, entries: map[string][]wire.Entry{}}
	return w, repo.EmptyTrash(ctx)
}

// expect tells w what else the request brings for a URL.
func (w *writer) expect(r wire.URLPutRequest) {
	if r.ContentType == wire.ContentRaw && r.Suffix == "" && r.URLMd5 != "" {
		w.raw[sqlstore.Key{SiteID: r.SiteID, URLMd5: r.URLMd5}] = true
	}
}

// element puts the content of one element to each URL that it means.
func (w *writer) element(ctx context.Context, object string, r wire.URLPutRequest) ([]wire.URLPutResponse, error) {
	answer := func(err error) wire.URLPutResponse {
		a := wire.URLPutResponse{ContentType: r.ContentType}
		if err != nil {
			a.ErrCode, a.ErrMessage = wire.CodeFailed, err.Error()
		}
		return a
	}
	switch {
	case r.PutDict.Data == nil:
		return []wire.URLPutResponse{answer(&wire.FieldError{Object: object + ".putDict", Field: "data", Reason: "is missing"})}, nil
	case r.URLMd5 != "":
		refusal, err := w.put(ctx, r, r.URLMd5)
		return []wire.URLPutResponse{answer(refusal)}, err
	case r.Criterion.Empty():
		return []wire.URLPutResponse{answer(&wire.FieldError{Object: object, Field: "urlMd5", Reason: "is missing, and so is a clause of criterions"})}, nil
	}
	var answers []wire.URLPutResponse
	selection := w.repo.Store.Select(object, r.SiteID, r.Criterion)
	for {
		md5s, err := selection.Next(ctx)
		if err != nil || len(md5s) == 0 {
			return answers, err
		}
		for _, md5 := range md5s {
			refusal, err := w.put(ctx, r, md5)
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer(refusal))
		}
	}
}

// put adds one content. A refusal is about that content alone; err ends the
// request.
func (w *writer) put(ctx context.Context, r wire.URLPutRequest, md5 string) (refusal, err error) {
	if r.ContentType == wire.ContentProcessed {
		e := wire.Entry{ID: r.PutDict.ID, Data: []byte(*r.PutDict.Data)}
		if e.ID == "" {
			e.ID = md5
		}
		e.CDate, _ = r.PutDict.CDate.Time()
		w.entries[r.SiteID] = append(w.entries[r.SiteID], e)
	} else if err := w.file(r, md5); errors.Is(err, rawfiles.ErrTooLarge) || errors.Is(err, rawfiles.ErrName) {
		return err, nil
	} else if err != nil {
		return nil, err
	}
	if w.waiting++; w.waiting < writerRoom {
		return nil, nil
	}
	return nil, w.commit(ctx)
}

// file stages a file. What goes with a page (headers, request, meta, cookies) has
// the name of the newest page that has no suffix, as it is looked for by that
// name; other files are named by the time (docs/spec/DECISIONS.md 5.2).
func (w *writer) file(r wire.URLPutRequest, md5 string) error {
	kind, data := rawfiles.Kind(r.ContentType), decoded(*r.PutDict.Data)
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
		pages, err := w.repo.Raw.Versions(r.SiteID, md5, rawfiles.Raw)
		if err != nil {
			return err
		}
		for i := len(pages) - 1; i >= 0; i-- {
			if pages[i].Label == "" {
				label := strings.TrimSuffix(strings.TrimPrefix(path.Base(pages[i].Path), md5), ".bin")
				return w.stage.PutLabelled(r.SiteID, md5, strings.TrimPrefix(label, "_"), kind, data)
			}
		}
	}
	return w.stage.Put(r.SiteID, md5, w.at, kind, data)
}

// commit makes durable what was put, and goes on.
func (w *writer) commit(ctx context.Context) error {
	if err := w.stage.Commit(); err != nil {
		return fmt.Errorf("store raw files: %w", err)
	}
	w.stage = w.repo.Raw.Stage()
	for site, entries := range w.entries {
		if _, err := w.repo.Contents.PutAll(ctx, site, entries); err != nil {
			return fmt.Errorf("store processed contents of site %s: %w", site, err)
		}
	}
	for site, md5s := range w.fresh {
		w.repo.trim(ctx, site, md5s)
	}
	clear(w.entries)
	clear(w.fresh)
	w.waiting = 0
	return nil
}

// isPut tells a URL_PUT from none, and from the placeholders of old samples.
func isPut(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// checkPut refuses a URL_PUT that another operation carries and that cannot be
// done, before anything is touched. The URL's site may not be known yet.
func checkPut(name string, raw json.RawMessage, md5 string) error {
	if !isPut(raw) {
		return nil
	}
	_, err := wire.ReadURLPutObject(name, raw, wire.GeneralSite, md5)
	return err
}

// put stores the content of a URL_PUT that another operation carries. Null site
// and key are those of the URL.
func (repo *Repository) put(ctx context.Context, name string, raw json.RawMessage, site, md5 string) error {
	if !isPut(raw) {
		return nil
	}
	r, err := wire.ReadURLPutObject(name, raw, site, md5)
	if err != nil {
		return err
	}
	if r.SiteID, err = repo.Store.StoredID(ctx, r.SiteID); err != nil {
		return err
	}
	w, err := repo.newWriter(ctx)
	if err != nil {
		return err
	}
	defer func() { w.stage.Abort() }() // commit makes a new one
	refusal, err := w.put(ctx, r, r.URLMd5)
	if err = errors.Join(refusal, err); err != nil {
		return err
	}
	return w.commit(ctx)
}

// decoded is the base64 text decoded, or the text itself when it is none. As
// clients are used to it, characters outside the alphabet do not count, and only
// a last group that is too short makes a text none (docs/spec/objects.md 2.9).
func decoded(text string) []byte {
	var digits strings.Builder
	digits.Grow(len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '/':
			digits.WriteByte(c)
		case c == '=' && closes(digits.Len()%4, text[i+1:]):
			return undigits(text, digits.String(), true)
		}
	}
	return undigits(text, digits.String(), false)
}

// closes reports whether a = that stands behind so many digits of a group ends
// the text: the group is filled with it, or with it and another one.
func closes(digits int, rest string) bool {
	if digits != 2 {
		return digits == 3
	}
	next := strings.IndexFunc(rest, func(r rune) bool {
		return r == '=' || r == '+' || r == '/' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
	})
	return next >= 0 && rest[next] == '='
}

func undigits(text, digits string, closed bool) []byte {
	if len(digits)%4 != 0 && !closed {
		return []byte(text)
	}
	data, err := base64.RawStdEncoding.DecodeString(digits)
	if err != nil {
		return []byte(text)
	}
	return data
}
