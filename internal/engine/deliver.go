package engine

import (
	"context"
	"strings"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

const (
	queuedKeys = 512 // stored rows that wait for the caller of Crawl
	keysAtOnce = 64  // of one look at the store
	// lastVersions is how many delivered versions are remembered. A row is announced twice, after its fetch and after its
	// processing, with at most queuedKeys others between.
	lastVersions = 4 * (queuedKeys + keysAtOnce)
)

// Needs are the contents of a delivered page.
const Needs = pages.Processed | pages.Raw | pages.Headers

// deliver calls each for the finished ones of the announced rows, until keys is closed. A row that waits for its processing is
// announced again later.
func (c *crawl) deliver(ctx context.Context, each func(*pages.Page) error) error {
	seen := recent{known: map[version]bool{}}
	for key := range c.keys {
		keys := []string{"'" + key + "'"}
		for len(keys) < keysAtOnce && len(c.keys) > 0 {
			keys = append(keys, "'"+<-c.keys+"'")
		}
		reader := pages.Reader{
			Service: c.engine, Site: c.site, Needs: Needs,
			Where: wire.FinishedRow + " AND `URLMd5` IN (" + strings.Join(keys, ",") + ")",
		}
		err := reader.Read(ctx, "", func(p *pages.Page) error {
			if !seen.add(version{p.URLMd5, p.Crawled, p.Processed}) {
				return nil
			}
			return each(p)
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// version is one state of a row.
type version struct {
	key                string
	crawled, processed int64
}

// recent remembers the last versions.
type recent struct {
	known map[version]bool
	order []version
}

// add adds a version. It returns false for a known one.
func (r *recent) add(v version) bool {
	if r.known[v] {
		return false
	}
	r.known[v] = true
	r.order = append(r.order, v)
	if len(r.order) > lastVersions {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	return true
}
