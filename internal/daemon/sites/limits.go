package sites

import (
	"encoding/json"
	"fmt"
	"strconv"

	"hce/dc/internal/wire"
)

// shared are the limits of a site of which each node gets its share.
var shared = [...]string{"maxURLs", "maxResources", "maxErrors"}

// divided is the request for one of several nodes: SITE_NEW and SITE_UPDATE get
// a share of each limit, rounded up, so that a limit never becomes 0, which is
// none (docs/spec/objects.md 2.1). All else stays as it came, and so does a limit that is no
// number, for db-task to refuse.
func divided(op wire.Op, request json.RawMessage, nodes int) (json.RawMessage, error) {
	if nodes < 2 || op != wire.SiteNew && op != wire.SiteUpdate {
		return request, nil
	}
	var site map[string]json.RawMessage
	if json.Unmarshal(request, &site) != nil {
		return request, nil
	}
	changed := false
	for _, limit := range shared {
		if n, ok := wire.ReadInt(site[limit]); ok && n > 0 {
			site[limit] = strconv.AppendInt(nil, (n-1)/int64(nodes)+1, 10)
			changed = true
		}
	}
	if !changed {
		return request, nil
	}
	raw, err := json.Marshal(site)
	if err != nil {
		return nil, fmt.Errorf("sites.divided: %w", err)
	}
	return raw, nil
}
