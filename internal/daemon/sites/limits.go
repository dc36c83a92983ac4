package sites

import (
	"encoding/json"
	"fmt"
	"strconv"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// shared are the limits of a site that are divided among the nodes.
var shared = [...]string{"maxURLs", "maxResources", "maxErrors"}

// divideRequest returns the request for one of several nodes. SITE_NEW and SITE_UPDATE get a share of
// each limit, rounded up, because 0 would mean no limit (docs/spec/objects.md 2.1). Other
// fields do not change, nor does a limit that is not a number: db-task refuses it.
func divideRequest(op wire.Op, request json.RawMessage, nodes int) (json.RawMessage, error) {
	if nodes < 2 || op != wire.SiteNew && op != wire.SiteUpdate {
		return request, nil
	}
	var site map[string]json.RawMessage
	if json.Unmarshal(request, &site) != nil {
		return request, nil
	}
	changed := false
	for _, limit := range shared {
		if n, ok := schema.ReadInt(site[limit]); ok && n > 0 {
			site[limit] = strconv.AppendInt(nil, (n-1)/int64(nodes)+1, 10)
			changed = true
		}
	}
	if !changed {
		return request, nil
	}
	raw, err := json.Marshal(site)
	if err != nil {
		return nil, fmt.Errorf("encode divided request: %w", err)
	}
	return raw, nil
}
