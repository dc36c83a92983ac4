package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
)

// serveHealth answers without a key: load balancers ask it.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok"})
}

// whoami is what the API knows about the key of a request.
type whoami struct {
	Key   string        `json:"key,omitempty" doc:"beginning of the key; missing for a request without one"`
	Name  string        `json:"name,omitempty"`
	Scope apikeys.Scope `json:"scope" enum:"read,crawl,admin"`
	Sites []string      `json:"sites,omitempty" doc:"ids of the sites of the key; missing: all"`
}

// explanation is what crawling decides about a URL.
type explanation json.RawMessage

// MarshalJSON returns the object.
func (e explanation) MarshalJSON() ([]byte, error) { return e, nil }

// Schema describes the object.
func (explanation) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "canonical form, site, filters, robots.txt, pause, whether the URL is due, and reasons", Properties: map[string]*huma.Schema{
		"url": {Type: huma.TypeString}, "canonical": {Type: huma.TypeString}, "due": {Type: huma.TypeBoolean}, "reasons": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}},
	}}
}

// explainLimit is less than requestLimit: robots.txt may have to wait for the pause of a host.
const explainLimit = 20 * time.Second

// addService registers the operations about the daemon.
func (s *Server) addService(api huma.API) {
	add(s, api, operation{id: "whoami", method: http.MethodGet, path: "/v1/whoami", tag: "service", summary: "Show what the key allows", scope: apikeys.Read, open: true},
		func(ctx context.Context, _ *struct{}) (*object[whoami], error) {
			c := callerOf(ctx)
			return &object[whoami]{whoami{c.Prefix, c.Name, c.Scope, c.Key.Sites}}, nil
		})
	add(s, api, operation{id: "status", method: http.MethodGet, path: "/v1/status", tag: "service", summary: "Show what runs and what is wrong", scope: apikeys.Read},
		func(ctx context.Context, _ *struct{}) (*object[actions.Status], error) {
			found, err := s.status(ctx)
			return &object[actions.Status]{found}, err
		})
	add(s, api, operation{
		id: "explain", method: http.MethodGet, path: "/v1/explain", tag: "service", summary: "Explain what crawling decides about a URL", scope: apikeys.Read, errors: []int{http.StatusNotFound}, limit: explainLimit,
		about: "Nothing is stored; robots.txt of the host may be asked. A host that asks for a long pause answers later than this request may take.",
	}, func(ctx context.Context, in *struct {
		URL  string `query:"url" required:"true" maxLength:"4096"`
		Site string `query:"site" maxLength:"32" doc:"treat the URL as a page of this site; default: the site whose root is a prefix of the URL"`
	}) (*object[explanation], error) {
		text, err := s.actions.Explain(ctx, s.cfg.Explain, in.URL, in.Site)
		return &object[explanation]{explanation(text)}, err
	})
}

// status returns what the managers say.
func (s *Server) status(ctx context.Context) (actions.Status, error) {
	c, err := s.state(ctx)
	if err != nil {
		return actions.Status{}, err
	}
	return actions.Status{State: c.Status, Managers: c.Managers, Pauses: c.Pauses, SilentNodes: c.Silent, RefusedNodes: c.Refused, Reasons: c.Reasons}, nil
}
