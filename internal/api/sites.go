package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
)

// newSiteInput is a site to create.
type newSiteInput struct {
	WaitInput
	Idempotency string `header:"Idempotency-Key" maxLength:"255" doc:"any text of the client's choice: a repeated request makes no second site"`
	Body        actions.NewSite
}

// startOnce creates something. If it exists and the client repeats its request, same returns it.
func startOnce[T any](in *newSiteInput, start, same func() (T, error)) (T, error) {
	made, err := start()
	if _, exists := errors.AsType[*actions.Conflict](err); !exists || in.Idempotency == "" {
		return made, err
	}
	return same()
}

// ListInput is a part of a list.
type ListInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"most objects of the answer"`
	Cursor string `query:"cursor" maxLength:"64" doc:"next of the answer before; without it the list begins"`
}

// list is a part of a list.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"cursor of the next part; missing in the last one"`
}

// addSites registers the operations about sites.
func (s *Server) addSites(api huma.API) {
	add(s, api, operation{
		id: "listSites", method: http.MethodGet, path: "/v1/sites", tag: "sites", summary: "List the sites", scope: apikeys.Read, open: true,
		about: "Ordered by id. Settings are those of one site only.",
	}, s.listSites)
	add(s, api, operation{
		id: "createSite", method: http.MethodPost, path: "/v1/sites", tag: "sites", summary: "Create a site", scope: apikeys.Crawl, status: http.StatusCreated,
		errors: []int{http.StatusConflict},
		about:  "The daemon crawls it at once. A repeated request with the header Idempotency-Key gets the site that exists, if its settings are those.",
	}, func(ctx context.Context, in *newSiteInput) (*created[actions.Site], error) {
		site, err := startOnce(in, func() (actions.Site, error) { return s.actions.CreateSite(ctx, in.Body) }, func() (actions.Site, error) { return s.actions.SameSite(ctx, in.Body) })
		return &created[actions.Site]{"/v1/sites/" + site.ID, site}, err
	})
	add(s, api, operation{id: "getSite", method: http.MethodGet, path: "/v1/sites/{site}", tag: "sites", summary: "Show a site", scope: apikeys.Read, site: "site"},
		func(ctx context.Context, in *SiteInput) (*object[actions.Site], error) {
			site, err := s.actions.Site(ctx, in.Site)
			return &object[actions.Site]{site}, err
		})
	add(s, api, operation{
		id: "changeSite", method: http.MethodPatch, path: "/v1/sites/{site}", tag: "sites", summary: "Change, pause or resume a site", scope: apikeys.Crawl, site: "site",
		about: "What is left out stays.",
	}, func(ctx context.Context, in *struct {
		SiteInput
		Body actions.SiteChange
	}) (*object[actions.Site], error) {
		site, err := s.actions.ChangeSite(ctx, in.Site, in.Body)
		return &object[actions.Site]{site}, err
	})
	add(s, api, operation{
		id: "deleteSite", method: http.MethodDelete, path: "/v1/sites/{site}", tag: "sites", summary: "Delete a site with all its pages", scope: apikeys.Crawl, site: "site",
	}, func(ctx context.Context, in *SiteInput) (*struct{}, error) {
		return nil, s.actions.DeleteSite(ctx, in.Site)
	})
	add(s, api, operation{
		id: "recrawlSite", method: http.MethodPost, path: "/v1/sites/{site}/recrawl", tag: "sites", summary: "Ask for all pages of a site again", scope: apikeys.Crawl, site: "site",
		about: "Servers are asked whether their pages have changed. Pages that have not are neither stored nor processed again.",
	}, func(ctx context.Context, in *struct {
		SiteInput
		Body *recrawlInput
	}) (*object[recrawled], error) {
		if in.Body == nil {
			in.Body = &recrawlInput{}
		}
		n, err := s.actions.Recrawl(ctx, in.Site, in.Body.Failed, in.Body.Full)
		return &object[recrawled]{recrawled{n}}, err
	})
}

type recrawlInput struct {
	Failed bool `json:"failed,omitempty" doc:"only URLs with an error"`
	Full   bool `json:"full,omitempty" doc:"read and process unchanged pages again, too"`
}

type recrawled struct {
	URLs int64 `json:"urls" doc:"URLs that are due again"`
}

// listSites lists the sites that the key allows.
func (s *Server) listSites(ctx context.Context, in *ListInput) (*object[list[actions.Site]], error) {
	c := callerOf(ctx)
	if len(c.Sites) > 0 {
		return s.listKeySites(ctx, c.Sites)
	}
	sites, err := s.actions.Sites(ctx, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	part := list[actions.Site]{Items: sites}
	if len(sites) == in.Limit {
		part.Next = sites[len(sites)-1].ID
	}
	return &object[list[actions.Site]]{part}, nil
}

// listKeySites lists the sites of a key that are there, which are few.
func (s *Server) listKeySites(ctx context.Context, ids []string) (*object[list[actions.Site]], error) {
	part := list[actions.Site]{Items: []actions.Site{}}
	for _, id := range ids {
		site, err := s.actions.Site(ctx, id)
		if _, missing := errors.AsType[*actions.NotFound](err); missing {
			continue
		}
		if err != nil {
			return nil, err
		}
		site.Settings = nil
		part.Items = append(part.Items, site)
	}
	return &object[list[actions.Site]]{part}, nil
}
