package main

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"hce/dc/examples/rig"
)

// Limits of a run on a foreign site.
const (
	politeDelay     = 500 // ms
	mostPages       = 500
	mostResources   = 1000
	mostBytesOfPage = 10 << 20
)

// target returns the options for the site at root: without delay and limits for the own
// server, else politely.
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
		// One page of the example site sends single bytes and never ends.
		t.HTTPTimeout = 5000
	}
	return t, nil
}

// folderPattern matches all URLs in the folder of u, with http or https, with or without
// www.
func folderPattern(u *url.URL) string {
	folder := u.EscapedPath()
	folder = folder[:strings.LastIndexByte(folder, '/')+1]
	host := strings.TrimPrefix(strings.ToLower(u.Host), "www.")
	return `^https?://(www\.)?` + regexp.QuoteMeta(host) + regexp.QuoteMeta(folder)
}
