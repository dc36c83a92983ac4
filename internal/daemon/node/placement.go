package node

import (
	"encoding/json"
	"fmt"
	"os"

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

// readPlacement reads placement.json.
func (c Config) readPlacement() (placement.Placement, error) {
	text, err := os.ReadFile(c.Placement)
	if err != nil {
		return placement.Placement{}, err
	}
	return readMembers(text, c.Join.Name)
}
