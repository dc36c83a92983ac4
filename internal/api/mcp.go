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
		Actions: s.actions, Scraper: s.scraper, Version: s.cfg.Version, Allow: s.allowTool,
		Explain: func(ctx context.Context, url, site string) (json.RawMessage, error) {
			return actions.Explain(ctx, s.cfg.Explain, url, site)
		},
	}))
}

// allowTool says whether the key of a request allows a tool. Tools that do more than read are in the log.
func (s *Server) allowTool(ctx context.Context, needed apikeys.Scope, site string) error {
	c := callerOf(ctx)
	switch {
	case !c.Scope.Allows(needed):
		return errors.New("the key has the scope " + string(c.Scope) + "; the tool needs " + string(needed))
	case site == mcpserver.AllSites && len(c.Sites) > 0:
		return errors.New("the key is for some sites only")
	case site != "" && site != mcpserver.AllSites && !c.AllowsSite(site):
		return &actions.NotFound{What: "site", Name: site}
	}
	if needed != apikeys.Read {
		s.log.Info("tool", "key", c.name, "scope", needed, "trace", c.trace)
	}
	return nil
}
