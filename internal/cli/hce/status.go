package hce

import (
	"fmt"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/wire"
)

// overview is the answer of hce status.
type overview struct {
	Service string `json:"service"`
	Sites   int    `json:"sites"`
	Active  int    `json:"active"`
	URLs    int64  `json:"urls"`
	Waiting int64  `json:"waiting"`
	Pages   int64  `json:"pages"`
	Errors  int64  `json:"errors"`
	Bytes   int64  `json:"bytes"`
}

func (p program) statusCommand() *command.Command {
	var o options
	return p.leaf(command.Text{
		Name: "status", Summary: "shows which service hce uses, and its totals",
		Description: "hce top shows the sites live.",
		Examples:    "  hce status\n  hce status --json",
	}, &o, func(s *session) error {
		list, err := s.openSites()
		if err != nil {
			return err
		}
		v := overview{Service: s.service.String(), Sites: len(list)}
		for _, site := range list {
			v.add(site)
		}
		if s.json {
			return s.printJSON(v)
		}
		fmt.Fprintf(s.out, "%s\n%s, %d active\n%s, %d waiting, %d pages, %d errors, %s\n", v.Service, count(int64(v.Sites), "site", "sites"), v.Active,
			count(v.URLs, "URL", "URLs"), v.Waiting, v.Pages, v.Errors, bytesText(v.Bytes))
		return nil
	})
}

func (v *overview) add(site wire.Site) {
	if site.State == wire.SiteActive {
		v.Active++
	}
	v.URLs += site.CollectedURLs + int64(len(site.URLs))
	v.Waiting += site.NewURLs
	v.Pages += site.Contents
	v.Errors += site.Errors
	v.Bytes += site.Size
}
