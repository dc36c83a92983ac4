package pages

import (
	"context"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// findTargets sets LeadsToPage. It asks only if a page of the list has redirects.
func (r Reader) findTargets(ctx context.Context, list []Page) error {
	at := map[string][]int{} // pages by the key of their last address
	var keys []string
	for i := range list {
		key := TargetKey(&list[i].URL)
		if key == "" || key == list[i].URLMd5 {
			continue
		}
		if at[key] == nil {
			keys = append(keys, "'"+key+"'")
		}
		at[key] = append(at[key], i)
	}
	if len(keys) == 0 {
		return nil
	}
	where := "`URLMd5` IN (" + strings.Join(keys, ",") + ") AND `State`=0 AND `Crawled`>0 AND " + wire.ContentCodes + " AND `Redirects`=''"
	rows, err := Rows(ctx, r.Service, r.Site, where, "", len(keys))
	for _, row := range rows {
		for _, i := range at[row.URLMd5] {
			list[i].LeadsToPage = true
		}
	}
	return err
}

// TargetKey returns the key of the URL to which the redirects of a row have led, "" without redirects.
func TargetKey(row *wire.URL) string {
	hops := row.Hops()
	if len(hops) == 0 {
		return ""
	}
	text, err := canonical.Canonical(hops[len(hops)-1].URL)
	if err != nil {
		return ""
	}
	return urlkey.Of(text)
}
