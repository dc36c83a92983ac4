package subcommand

import (
	"context"
	"errors"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// In a cluster a node that is away makes an answer incomplete, which is an error. What one node, or
// each node, can answer alone does not need it: all nodes have all sites, and one has a page.

// Partial is a service for which an incomplete answer is no error. It keeps the first one.
type Partial struct {
	service.Service
	Missing *service.Incomplete
}

// Ask implements service.Service.
func (p *Partial) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	err := p.Service.Ask(ctx, op, request, answer)
	var missing *service.Incomplete
	if !errors.As(err, &missing) {
		return err
	}
	if p.Missing == nil {
		p.Missing = missing
	}
	return nil
}

// RunPartly runs find with a copy of the session that accepts incomplete answers. If it fails, the
// error also names the nodes that were missing.
func (s *Session) RunPartly(find func(*Session) error) error {
	p := &Partial{Service: s.Service}
	one := *s
	one.Service = p
	err := find(&one)
	if err != nil && p.Missing != nil {
		return errors.Join(p.Missing, err)
	}
	return err
}

// RunLookup is RunPartly for what is not known only because nodes were missing.
func (s *Session) RunLookup(find func(*Session) error) error {
	err := s.RunPartly(find)
	var part *service.Incomplete
	if errors.As(err, &part) {
		return part
	}
	return err
}

// IsDeferred reports whether the only fault is that nodes which are away make the change later.
func IsDeferred(err error) bool {
	var part *service.Incomplete
	return errors.As(err, &part) && part.Later()
}
