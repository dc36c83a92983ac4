package main

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"hce/dc/examples/rig"
)

// Limits of a run on a site that is not ours.
const (
	politeDelay     = 500 // ms
	mostPages       = 500
	mostResources   = 1000
	mostBytesOfPage = 10 << 20
)

// target says how the site at root is crawled: without delay and whole if it
// is served by ourselves, politely and within limits otherwise.
func (d *demo) target(root string) (rig.Site, error) {
	t := rig.Site{Root: root, MaxResourceSize: mostBytesOfPage}
	switch {
	case d.site != "":
		u, err := url.Parse(root)
		if err != nil {
			return rig.Site{}, fmt.Errorf("site: %w", err)
		}
		if u.Path == "" {
			u.Path = "/"
		}
		u.Fragment = ""
		t.Root = u.String()
		t.Filter = folderPattern(u)
		t.RequestDelay = politeDelay
		t.MaxURLs = mostPages
		t.MaxResources = mostResources
	case d.dir == "":
		// The example site has a page that comes in drops and never ends.
		t.HTTPTimeout = 5000
	}
	return t, nil
}

// folderPattern fits all URLs in the folder of u. A site that answers by
// sending its visitors to https or to its name with www is still that site.
func folderPattern(u *url.URL) string {
	folder := u.EscapedPath()
	folder = folder[:strings.LastIndexByte(folder, '/')+1]
	host := strings.TrimPrefix(strings.ToLower(u.Host), "www.")
	return `^https?://(www\.)?` + regexp.QuoteMeta(host) + regexp.QuoteMeta(folder)
}
