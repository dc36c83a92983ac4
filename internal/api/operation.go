package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hce/dc/internal/cli/apikeys"
)

const (
	healthPath  = "/v1/health"
	mcpPath     = "/mcp"
	openAPIPath = "/v1/openapi"
)

// operation is what the document says about an operation, and what the guard asks for.
type operation struct {
	id, method, path string
	tag, summary     string
	about            string
	scope            apikeys.Scope
	site             string        // the parameter with the id of a site; "": none
	open             bool          // without a site, and for keys of single sites too
	limit            time.Duration // of the request; 0: requestLimit; negative: none
	body             int64         // most bytes; 0: maxBody
	status           int           // of success; 0: 200, or 204 without a body
	errors           []int
	media            []string // types of an answer that is no JSON
}

// answers are the answers that the types of a handler do not show.
func (o operation) answers() map[string]*huma.Response {
	if o.media == nil {
		return nil
	}
	found := &huma.Response{Description: http.StatusText(http.StatusOK), Content: map[string]*huma.MediaType{}}
	for _, kind := range o.media {
		found.Content[kind] = &huma.MediaType{}
	}
	return map[string]*huma.Response{"200": found}
}

// add registers an operation. A handler returns errors of actions. Types that an input embeds must be exported: the library passes over
// the parameters of others without a word.
func add[I, O any](s *Server, api huma.API, o operation, handle func(ctx context.Context, in *I) (*O, error)) {
	errs := append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, o.errors...)
	if o.site != "" {
		errs = append(errs, http.StatusNotFound)
	}
	if o.method == http.MethodPost || o.method == http.MethodPatch {
		errs = append(errs, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(errs)
	body := o.body
	if body == 0 {
		body = maxBody
	}
	huma.Register(api, huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Description: o.about, Tags: []string{o.tag},
		DefaultStatus: o.status, MaxBodyBytes: body, Errors: slices.Compact(errs), Responses: o.answers(), RejectUnknownQueryParameters: true,
		Metadata: map[string]any{"operation": o}, Security: []map[string][]string{{"key": {}}},
	}, func(ctx context.Context, in *I) (*O, error) {
		limit := o.limit
		if limit == 0 {
			limit = requestLimit
		}
		if limit > 0 {
			limited, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			ctx = limited
		}
		out, err := handle(ctx, in)
		if err = s.reportError(ctx, o, err); err != nil {
			return nil, err
		}
		return out, nil
	})
}

// addTrace names the request in a problem of the library.
func addTrace(ctx huma.Context, _ string, answer any) (any, error) {
	if p, is := answer.(*Problem); is && p.Trace == "" {
		p.Trace = callerOf(ctx.Context()).trace
	}
	return answer, nil
}

// reportError returns the error of an action as a problem. One that no client has made is for the log.
func (s *Server) reportError(ctx context.Context, o operation, err error) error {
	err = problemOf(err, o.method)
	if err == nil {
		return nil
	}
	c := callerOf(ctx)
	if status, ok := errors.AsType[huma.StatusError](err); ok {
		if p, ok := status.(*Problem); ok {
			p.Trace = c.trace
		}
		return err
	}
	s.log.Error("request failed", "action", o.id, "trace", c.trace, "error", err)
	p := newProblem(http.StatusInternalServerError, "the request failed; the log of the daemon says more")
	p.Trace = c.trace
	return p
}

// checkScope refuses callers whose key does not allow the operation.
func (s *Server) checkScope(api huma.API) func(ctx huma.Context, next func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		o, _ := ctx.Operation().Metadata["operation"].(operation)
		c := callerOf(ctx.Context())
		var p *Problem
		switch {
		case !c.Scope.Allows(o.scope):
			p = newProblem(http.StatusForbidden, "the key has the scope "+string(c.Scope)+"; the operation needs "+string(o.scope))
		case o.site != "" && !c.AllowsSite(ctx.Param(o.site)):
			p = newProblem(http.StatusNotFound, "site "+ctx.Param(o.site)+" is not known") // as for a site that does not exist
		case o.site == "" && !o.open && len(c.Sites) > 0:
			p = newProblem(http.StatusForbidden, "the key is for some sites only")
		}
		if p == nil {
			next(ctx)
			return
		}
		r, w := humago.Unwrap(ctx)
		s.refuse(w, r, p, c.trace)
	}
}

// newHandler returns the handler of all requests.
func (s *Server) newHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+healthPath, s.serveHealth)
	mux.Handle(mcpPath, s.newMCP())
	s.register(humago.New(mux, documentConfig(s.cfg.Version)))
	return s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		found := refusal{ResponseWriter: w}
		handler.ServeHTTP(&found, r)
		p := newProblem(found.status, "there is no "+r.Method+" "+r.URL.Path)
		if found.status == http.StatusNotFound {
			p.Remedy = "the operations are listed in /v1/openapi.json"
		}
		s.refuse(w, r, p, callerOf(r.Context()).trace)
	}))
}

// refusal keeps the headers and the status of an answer without its body.
type refusal struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (r *refusal) WriteHeader(status int) { r.status = status }

// Write passes over the body.
func (r *refusal) Write(p []byte) (int, error) { return len(p), nil }

// documentConfig is the head of the document. The library adds no pages and no links of its own.
func documentConfig(version string) huma.Config {
	c := huma.DefaultConfig("HCE Distributed Crawler", version)
	c.DocsPath, c.SchemasPath, c.OpenAPIPath, c.CreateHooks = "", "", openAPIPath, nil
	c.Transformers = []huma.Transformer{addTrace}
	c.Info.Description = "Sites, crawls, pages and single pages of the web. Errors are problems (RFC 9457). Times are RFC 3339 in UTC, sizes are bytes."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "a key of hce key new; on loopback none is needed as long as there is no key"},
	}
	c.Tags = []*huma.Tag{
		{Name: "web", Description: "Single pages of the web, without a site"}, {Name: "crawls", Description: "A site and its crawl in one step"},
		{Name: "sites", Description: "Sites and their settings"}, {Name: "pages", Description: "URLs and stored pages of a site"}, {Name: "events", Description: "What happens to pages and sites, as a stream and by webhooks"}, {Name: "service", Description: "The daemon"},
	}
	return c
}

// register registers all operations.
func (s *Server) register(api huma.API) {
	api.UseMiddleware(s.checkScope(api))
	s.addWeb(api)
	s.addCrawls(api)
	s.addSites(api)
	s.addPages(api)
	s.addEvents(api)
	s.addWebhooks(api)
	s.addService(api)
}

// Document returns the OpenAPI document as JSON.
func Document(version string) ([]byte, error) {
	s := &Server{}
	api := humago.New(http.NewServeMux(), documentConfig(version))
	s.register(api)
	return api.OpenAPI().MarshalJSON()
}
