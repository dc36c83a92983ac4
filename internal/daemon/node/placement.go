package node

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// readMembers reads a placement for one node.
func readMembers(value []byte, self string) (placement.Placement, error) {
	var p placement.Placement
	if err := json.Unmarshal(value, &p); err != nil {
		return p, fmt.Errorf("read placement: %w", err)
	}
	p.Self = self
	return p, p.Check()
}

func encodePlacement(p placement.Placement) ([]byte, error) {
	text, err := json.Marshal(p)
	return append(text, '\n'), err
}

func readView(value []byte) (v wire.ClusterPlacement, err error) {
	if err = json.Unmarshal(value, &v); err != nil {
		err = fmt.Errorf("read placement: %w", err)
	}
	return v, err
}
