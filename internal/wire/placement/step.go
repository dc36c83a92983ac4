package placement

import "slices"

// Step numbers the states of a placement in their order: each group that moves is a step. What a node
// says of its rows at one step does not fit what another says at another. A change that has begun, and
// moved nothing yet, is the step of the placement before it.
func (p Placement) Step() int64 {
	if p.Groups == 0 {
		return (p.Epoch + 1) * (MaxGroups + 1)
	}
	return p.Epoch*(MaxGroups+1) + int64(p.Moved)
}

// Holders are the nodes that may have rows: the members, and those before a change that is under way.
func (p Placement) Holders() []string {
	list := slices.Clone(p.Members)
	for _, name := range p.Previous {
		if !slices.Contains(p.Members, name) {
			list = append(list, name)
		}
	}
	return list
}
