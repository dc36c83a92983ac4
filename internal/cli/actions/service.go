package actions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/target"
)

// Status says what runs and what is wrong.
type Status struct {
	State        string            `json:"state" enum:"ok,unhealthy" doc:"ok: all managers answer"`
	Reasons      []string          `json:"reasons,omitempty"`
	Managers     map[string]string `json:"managers,omitempty" doc:"faults by manager"`
	Pauses       map[string]string `json:"pauses,omitempty" doc:"reasons of queues that pause, such as a full disk, by manager"`
	SilentNodes  []string          `json:"silentNodes,omitempty" doc:"nodes of the cluster without a sign of life"`
	RefusedNodes []string          `json:"refusedNodes,omitempty" doc:"processes that have the identity of a node and are not it"`
}

// Command is a program of this machine.
type Command struct {
	Program string
	Args    []string
	Dir     string // where it runs
}

// Explain returns what crawling decides about a URL, as JSON. crawler is crawler-task; site may be empty.
func (a *Actions) Explain(ctx context.Context, crawler Command, typed, site string) (json.RawMessage, error) {
	u, err := target.Parse(typed)
	if err != nil {
		return nil, &Invalid{"url", typed, err.Error()}
	}
	args := append(slices.Clone(crawler.Args), "--explain", u.Text)
	if site != "" {
		if err := a.checkSite(ctx, site); err != nil {
			return nil, err
		}
		args = append(args, "--site", site)
	}
	cmd := exec.CommandContext(ctx, crawler.Program, args...)
	cmd.Dir = crawler.Dir
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err = childprocess.Run(cmd)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("crawler-task: %w: %.1000s", err, bytes.TrimSpace(talk.Bytes()))
	}
	return json.RawMessage(bytes.TrimSpace(out.Bytes())), nil
}

// Export chooses what is exported: by default the pages that hce export writes.
type Export struct {
	Site, Format string
	Fields       []string
	All, NoIndex bool      // all URLs, also failed and waiting ones; pages that ask not to be indexed, too
	Since        time.Time // of the last change of the content; zero: all
}

// ExportJob returns the job that writes the pages of a site to its Stdout.
func (a *Actions) ExportJob(ctx context.Context, e Export) (export.Job, error) {
	format, err := export.Find(e.Format)
	if err != nil {
		return export.Job{}, &Invalid{"format", e.Format, err.Error()}
	}
	if err := export.CheckFields(e.Fields); err != nil {
		return export.Job{}, &Invalid{"fields", nil, err.Error()}
	}
	if err := a.checkSite(ctx, e.Site); err != nil {
		return export.Job{}, err
	}
	var parts []string
	switch {
	case e.All:
	case e.NoIndex:
		parts = append(parts, cmp.Or(format.Where, export.Fetched))
	default:
		parts = append(parts, format.DefaultWhere())
	}
	if !e.Since.IsZero() {
		parts = append(parts, export.SinceWhere(e.Since.UTC().Format(time.DateTime)))
	}
	return export.Job{
		Reader: pages.Reader{Service: a.Service, Where: strings.Join(parts, " AND ")}, Sites: []string{e.Site}, Format: format, Settings: export.Settings{Fields: e.Fields},
	}, nil
}

// SameSite returns the site that a NewSite would create, if it exists with these settings. The error is a *Conflict if it has others.
func (a *Actions) SameSite(ctx context.Context, n NewSite) (Site, error) {
	object, err := n.objectOf()
	if err != nil {
		return Site{}, err
	}
	id := object["id"].(string)
	stored, err := a.storedSite(ctx, id)
	if err != nil {
		return Site{}, err
	}
	if list := sitespec.Differences(stored, object, []string{"recrawlPeriod"}); len(list) > 0 {
		return Site{}, &Conflict{"site " + id + " exists with other settings: " + strings.Join(list, "; ")}
	}
	return a.Site(ctx, id)
}
