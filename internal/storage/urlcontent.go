package storage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
)

// urlContent answers URL_CONTENT (docs/spec/storage.md 4.13): one answer per element, or one
// per URL that its urlFetch selects. A null element is answered by null.
func (repo *Repository) urlContent(ctx context.Context, list []wire.URLContentRequest) (any, error) {
	for i, r := range list {
		if r.Fetch == nil {
			continue
		}
		if err := r.Fetch.SiteLists.Normalize(fmt.Sprintf("URLContentObject[%d].urlFetch.siteUpdate", i), canonicalRoot); err != nil {
			return nil, err
		}
	}
	answers := []*wire.URLContentResponse{}
	var notes []sqlstore.ContentNote
	size := 0
	for rest := list; len(rest) > 0; {
		part := rest[:max(1, countTagged(rest))]
		if rest = rest[len(part):]; part[0].Null {
			answers = append(answers, nil)
			continue
		}
		requests, err := repo.contentRequests(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, request := range requests {
			answer, err := repo.readContents(ctx, request)
			if err != nil {
				return nil, err
			}
			answers = append(answers, &answer)
			if size += answer.Weight(); size > maxContents {
				return nil, fmt.Errorf("the requested contents exceed %d bytes; request fewer URLs at once", maxContents)
			}
			notes = append(notes, sqlstore.ContentNote{SiteID: request.SiteID, URLMd5s: []string{request.URLMd5}, Object: request.URLContentRequest})
		}
	}
	return answers, repo.NoteContents(ctx, notes)
}

// contentRequest is the request for the contents of one URL. row is nil for an unknown
// URL.
type contentRequest struct {
	wire.URLContentRequest
	row     *wire.URL
	entries map[string]wire.Entry // processed contents that were read together; nil: not yet read
}

// contentRequests resolves an element: one URL, or those that its urlFetch selects. Several elements are tagged.
func (repo *Repository) contentRequests(ctx context.Context, list []wire.URLContentRequest) ([]contentRequest, error) {
	r := list[0]
	if isTagged(r) {
		return repo.taggedRequests(ctx, list)
	}
	wantAttributes := r.Mask&wire.MaskAttributes != 0
	if r.Fetch == nil {
		rows, err := repo.Rows(ctx, r.SiteID, []string{r.URLMd5})
		if err != nil {
			return nil, err
		}
		row, ok := rows[r.URLMd5]
		if !ok {
			return []contentRequest{{URLContentRequest: r}}, nil
		}
		if wantAttributes {
			row.Attributes, err = repo.Attributes(ctx, row.SiteID, row.URLMd5, r.AttributeNames)
		}
		return []contentRequest{{URLContentRequest: r, row: &row}}, err
	}
	fetch := *r.Fetch
	if fetch.AttributeNames = nil; wantAttributes {
		fetch.AttributeNames = r.AttributeNames
	}
	urls, err := repo.fetchURLs(ctx, []wire.URLFetchRequest{fetch})
	if err != nil {
		return nil, err
	}
	requests := make([]contentRequest, len(urls))
	for i := range urls {
		found := r
		found.SiteID, found.URL, found.URLMd5 = urls[i].SiteID, urls[i].URL, urls[i].URLMd5
		requests[i] = contentRequest{URLContentRequest: found, row: &urls[i]}
	}
	return requests, nil
}

// maxContents limits the contents of one answer, in bytes of base64.
const maxContents = 512 << 20

// readContents answers the request for one URL.
func (repo *Repository) readContents(ctx context.Context, r contentRequest) (wire.URLContentResponse, error) {
	answer := wire.NewURLContentResponse(r.URL)
	if row := r.row; row != nil {
		r.SiteID = row.SiteID
		answer.URL, answer.URLMd5, answer.SiteID, answer.Status = row.URL, &row.URLMd5, row.SiteID, row.Status
		answer.RawContentMd5, answer.ContentURLMd5 = row.RawContentMd5, row.ContentURLMd5
		answer.DBFields = sqlstore.Fields(row, r.DBFields)
		if r.Mask&wire.MaskAttributes != 0 && row.Attributes != nil {
			answer.Attributes = row.Attributes
		}
	}
	if r.Mask&(wire.MaskProcessed|wire.MaskInternal|wire.MaskCustom) != 0 {
		if err := repo.processedContents(ctx, r, &answer); err != nil {
			return answer, err
		}
	}
	return answer, repo.rawContents(ctx, r.URLContentRequest, &answer)
}

// processedContents adds the parts of the processed content that the mask selects. A damaged content, and one that
// is missing although the row has it, is an error of the answer.
func (repo *Repository) processedContents(ctx context.Context, r contentRequest, answer *wire.URLContentResponse) error {
	entry, ok, err := repo.readEntry(ctx, r)
	if err == nil && !ok && r.row != nil && hasContent(r.row) {
		err = repo.missingContentError(ctx, r.row)
	}
	if err == nil && ok {
		answer.ProcessedContents, err = selectParts(entry, r.Mask, r.Tags)
	}
	if err != nil && wire.IsDamage(err.Error()) {
		answer.AddDamage(err)
		return nil
	}
	return err
}

// hasContent reports whether a row says that it has a processed content.
func hasContent(row *wire.URL) bool {
	return row.Status == wire.StatusProcessed && row.TagsCount > 0 && row.Processed > 0
}

// missingContentError returns the error about a processed content that is not in its place, nil if the row has changed
// since it was read: then the content was deleted, and not lost.
func (repo *Repository) missingContentError(ctx context.Context, row *wire.URL) error {
	now, err := repo.Rows(ctx, row.SiteID, []string{row.URLMd5})
	if err != nil {
		return err
	}
	if found, ok := now[row.URLMd5]; !ok || !hasContent(&found) || found.Processed != row.Processed {
		return nil
	}
	if _, ok, err := repo.Contents.Get(ctx, row.SiteID, row.URLMd5); ok || err != nil {
		return err // it was stored meanwhile
	}
	return fmt.Errorf("%s: it is missing in %s, key %s", wire.DamagedProcessed, repo.Contents.Place(row.SiteID), row.URLMd5)
}

// rawContents adds the raw files that the mask selects. Bits 2, 4, 8 select versions, bits
// 256, 512, 1024, 2048 kinds; the default kind is raw (docs/spec/objects.md 7 #20).
// Headers, requests, meta and cookies accompany a raw file; a missing one is null.
func (repo *Repository) rawContents(ctx context.Context, r wire.URLContentRequest, answer *wire.URLContentResponse) error {
	mask := r.Mask
	if mask&(wire.MaskRawLast|wire.MaskRawFirst|wire.MaskRawAll) == 0 {
		return nil
	}
	if mask&(wire.MaskTidy|wire.MaskDynamic|wire.MaskRaw|wire.MaskChain) == 0 {
		mask |= wire.MaskRaw
	}
	for _, k := range []struct {
		bit  int64
		kind rawfiles.Kind
	}{{wire.MaskRaw, rawfiles.Raw}, {wire.MaskTidy, rawfiles.Tidy}, {wire.MaskDynamic, rawfiles.Dynamic}, {wire.MaskChain, rawfiles.Chain}} {
		if mask&k.bit == 0 {
			continue
		}
		versions, err := repo.Raw.Versions(ctx, r.SiteID, r.URLMd5, k.kind)
		if err != nil {
			return err
		}
		for _, v := range selectVersions(versions, mask) {
			content, err := repo.readFile(ctx, v)
			if errors.Is(err, segments.ErrDamaged) {
				answer.AddDamage(err)
				continue
			}
			if err != nil {
				return err
			}
			if content == nil {
				continue // deleted since Versions
			}
			answer.RawContents = append(answer.RawContents, *content)
			if k.kind != rawfiles.Raw {
				continue
			}
			if err := repo.addCompanions(ctx, v, mask, answer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (repo *Repository) addCompanions(ctx context.Context, v rawfiles.Version, mask int64, answer *wire.URLContentResponse) error {
	for _, c := range []struct {
		bit  int64
		kind rawfiles.Kind
		list *[]*wire.Content
	}{
		{wire.MaskHeaders, rawfiles.Headers, &answer.Headers}, {wire.MaskRequests, rawfiles.Requests, &answer.Requests},
		{wire.MaskMeta, rawfiles.Meta, &answer.Meta}, {wire.MaskCookies, rawfiles.Cookies, &answer.Cookies},
		{wire.MaskHops, rawfiles.Hops, &answer.Hops},
	} {
		if mask&c.bit == 0 {
			continue
		}
		var content *wire.Content
		companion, ok, err := repo.Raw.Companion(ctx, v, c.kind)
		if err == nil && ok {
			content, err = repo.readFile(ctx, companion)
		}
		if errors.Is(err, segments.ErrDamaged) {
			answer.AddDamage(err)
			err = nil
		}
		if err != nil {
			return err
		}
		*c.list = append(*c.list, content)
	}
	return nil
}

// selectVersions returns the newest version, the oldest one and all versions (oldest first), each
// if its bit is set.
func selectVersions(versions []rawfiles.Version, mask int64) []rawfiles.Version {
	if len(versions) == 0 {
		return nil
	}
	var list []rawfiles.Version
	if mask&wire.MaskRawLast != 0 {
		list = append(list, versions[len(versions)-1])
	}
	if mask&wire.MaskRawFirst != 0 {
		list = append(list, versions[0])
	}
	if mask&wire.MaskRawAll != 0 {
		list = append(list, versions...)
	}
	return list
}

// readFile reads a version. It returns nil if the version was deleted since it was listed.
func (repo *Repository) readFile(ctx context.Context, v rawfiles.Version) (*wire.Content, error) {
	data, err := repo.readRawContent(ctx, v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &wire.Content{
		Buffer: base64.StdEncoding.EncodeToString(data),
		CDate:  v.Time.UTC().Format("2006-01-02 15:04:05.000"),
		TypeID: int(v.Kind),
	}, nil
}

// selectParts returns the parts of a stored value that the mask selects
// (docs/spec/storage.md 3.3). A value of unknown shape has no parts.
// With tags the default result has only these.
func selectParts(entry wire.Entry, mask int64, tags []string) ([]any, error) {
	list := []any{}
	if len(tags) > 0 && mask&(wire.MaskInternal|wire.MaskCustom) == 0 {
		if text, ok := result.Pick(entry.Data, tags); ok {
			return append(list, (&parts{cDate: entry.CDate.UTC().Format(time.DateTime)}).newContent(text)), nil
		}
	}
	text, err := result.Expand(entry.Data)
	if err != nil {
		return list, fmt.Errorf("%s: key %s: %w", wire.DamagedProcessed, entry.ID, err)
	}
	p := parts{text: text, cDate: entry.CDate.UTC().Format(time.DateTime)}
	if data, err := base64.StdEncoding.DecodeString(string(p.text)); err == nil {
		p.text = data
	}
	var array []json.RawMessage
	if json.Unmarshal(p.text, &array) == nil && array != nil {
		if mask&wire.MaskProcessed != 0 {
			list = append(list, p.newContent(p.text))
		}
		return list, nil
	}
	var value struct {
		Internal *[]json.RawMessage `json:"internal"`
		Custom   *[]json.RawMessage `json:"custom"`
	}
	if json.Unmarshal(p.text, &value) != nil || value.Internal == nil || value.Custom == nil {
		return list, nil
	}
	p.internal, p.custom = *value.Internal, *value.Custom
	if mask&wire.MaskProcessed != 0 {
		list = append(list, p.bestPart())
	}
	return p.appendSelected(list, mask), nil
}

// parts is a stored value with lists of results and of texts.
type parts struct {
	text             []byte
	cDate            string
	internal, custom []json.RawMessage
}

func (p *parts) newContent(data []byte) wire.Content {
	return wire.Content{Buffer: base64.StdEncoding.EncodeToString(data), CDate: p.cDate, TypeID: wire.ContentProcessed}
}

// customText returns the content of a custom text, or nil for null and for a missing one. An
// element that is not a text is its JSON.
func (p *parts) customText(i int) any {
	if i >= len(p.custom) || string(p.custom[i]) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(p.custom[i], &one) != nil {
		return p.newContent(p.custom[i])
	}
	return p.newContent([]byte(one))
}

// bestPart returns the first custom text, or else the value without its lists.
func (p *parts) bestPart() any {
	if text := p.customText(0); text != nil {
		return text
	}
	return p.newContent(withoutLists(p.text))
}

// appendSelected appends the results and texts that the mask selects.
func (p *parts) appendSelected(list []any, mask int64) []any {
	limit := 1
	if mask&wire.MaskAll != 0 {
		limit = max(len(p.internal), len(p.custom))
	}
	switch {
	case mask&wire.MaskInternal != 0 && mask&wire.MaskCustom != 0:
		for i, in := range p.internal {
			list = append(list, []any{p.newContent(in), p.customText(i)})
		}
	case mask&wire.MaskInternal != 0:
		for _, in := range p.internal[:min(limit, len(p.internal))] {
			list = append(list, p.newContent(in))
		}
	case mask&wire.MaskCustom != 0:
		for i := range min(limit, len(p.custom)) {
			if one := p.customText(i); one != nil {
				list = append(list, one)
			}
		}
	}
	return list
}

// withoutLists returns a stored object without the keys internal and custom.
func withoutLists(text []byte) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil {
		return text
	}
	delete(m, "internal")
	delete(m, "custom")
	out, _ := json.Marshal(m) // all values are JSON
	return out
}
