package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/cli/mcpserver"
)

// newMCP returns the handler for models. Their keys are those of the API, and each tool asks for its scope.
func (s *Server) newMCP() http.Handler {
	return mcpserver.Handler(mcpserver.New(mcpserver.Config{
		Actions: s.actions, Scraper: s.scraper, Version: s.cfg.Version, Allow: allowTool,
		Explain: func(ctx context.Context, url, site string) (json.RawMessage, error) {
			return actions.Explain(ctx, s.cfg.Explain, url, site)
		},
	}))
}

// allowTool says whether the key of a request allows a tool.
func allowTool(ctx context.Context, needed apikeys.Scope, site string) error {
	c := callerOf(ctx)
	switch {
	case !c.Scope.Allows(needed):
		return errors.New("the key has the scope " + string(c.Scope) + "; the tool needs " + string(needed))
	case site == mcpserver.AllSites && len(c.Sites) > 0:
		return errors.New("the key is for some sites only")
	case site != "" && site != mcpserver.AllSites && !c.AllowsSite(site):
		return &actions.NotFound{What: "site", Name: site}
	}
	return nil
}
