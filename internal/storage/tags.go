package storage

import (
	"context"

	"hce/dc/internal/wire"
)

// taggedAtOnce bounds the processed contents that are in memory, packed.
const taggedAtOnce = 50

// isTagged reports whether an element asks for tags of the processed content of one URL, and for nothing else.
func isTagged(r wire.URLContentRequest) bool {
	return !r.Null && r.Fetch == nil && len(r.Tags) > 0 && r.Mask == wire.MaskProcessed
}

// countTagged returns how many elements at the start of list are read together: those of one site that are tagged.
func countTagged(list []wire.URLContentRequest) (n int) {
	for n < min(len(list), taggedAtOnce) && isTagged(list[n]) && list[n].SiteID == list[0].SiteID {
		n++
	}
	return n
}

// taggedRequests reads the contents of elements that are tagged, and then their rows: a row that is the same as before
// the request was the same when its content was read.
func (repo *Repository) taggedRequests(ctx context.Context, list []wire.URLContentRequest) ([]contentRequest, error) {
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = list[i].URLMd5
	}
	site := list[0].SiteID
	entries, err := repo.Contents.GetAll(ctx, site, keys...)
	if err != nil && !wire.IsDamage(err.Error()) { // of a damaged file each entry is read alone
		return nil, err
	}
	rows, err := repo.Rows(ctx, site, keys)
	if err != nil {
		return nil, err
	}
	requests := make([]contentRequest, len(list))
	for i, r := range list {
		requests[i] = contentRequest{URLContentRequest: r, entries: entries}
		if row, known := rows[r.URLMd5]; known {
			requests[i].row = &row
		}
	}
	return requests, nil
}

// readEntry returns the processed content of a request.
func (repo *Repository) readEntry(ctx context.Context, r contentRequest) (wire.Entry, bool, error) {
	if r.entries == nil {
		return repo.Contents.Get(ctx, r.SiteID, r.URLMd5)
	}
	e, ok := r.entries[r.URLMd5]
	return e, ok, e.Damage
}
