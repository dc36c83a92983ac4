package pages

import (
	"context"
	"encoding/base64"
	"fmt"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// Version is one stored body of a page. A crawl that brings the same body adds none.
type Version struct {
	Number  int    // from 1, the oldest
	Stored  string // UTC, YYYY-MM-DD hh:mm:ss.mmm
	Raw     []byte // the page as received
	Headers []byte // of the answer; nil if they are not stored
}

// Versions returns all stored versions of a URL, the oldest first. All of them are in memory; the
// service refuses more than 512 MiB.
func Versions(ctx context.Context, service service.Service, row wire.URL) ([]Version, error) {
	var answers []answer
	err := service.Ask(ctx, wire.URLContent, []any{map[string]any{
		"siteId": row.SiteID, "url": row.URL, "urlMd5": row.URLMd5, "contentTypeMask": wire.MaskRaw | wire.MaskRawAll | wire.MaskHeaders,
		"attributeNames": []string{}, "dbFieldsList": []string{"Status"},
	}}, &answers)
	if err != nil || len(answers) == 0 {
		return nil, err
	}
	a := answers[0]
	if err := a.damageError(); err != nil {
		return nil, fmt.Errorf("versions of %s: %w", row.URL, err)
	}
	list := make([]Version, len(a.Raw))
	for i, raw := range a.Raw {
		v := Version{Number: i + 1, Stored: raw.CDate}
		if v.Raw, err = base64.StdEncoding.DecodeString(raw.Buffer); err != nil {
			return nil, fmt.Errorf("version %d of %s: %w", v.Number, row.URL, err)
		}
		if i < len(a.Headers) && a.Headers[i] != nil {
			if v.Headers, err = base64.StdEncoding.DecodeString(a.Headers[i].Buffer); err != nil {
				return nil, fmt.Errorf("headers of version %d of %s: %w", v.Number, row.URL, err)
			}
		}
		list[i] = v
	}
	return list, nil
}
