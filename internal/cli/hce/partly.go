package hce

import (
	"context"
	"errors"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// In a cluster a node that is away makes an answer incomplete, which is an error. What one node, or
// each node, can answer alone does not need it: all nodes have all sites, and one has a page.

// partial is a service for which an incomplete answer is no error. It keeps the first one.
type partial struct {
	service.Service
	missing *service.Incomplete
}

// Ask implements service.Service.
func (p *partial) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	err := p.Service.Ask(ctx, op, request, answer)
	var missing *service.Incomplete
	if !errors.As(err, &missing) {
		return err
	}
	if p.missing == nil {
		p.missing = missing
	}
	return nil
}

// runPartly runs find with a copy of the session that accepts incomplete answers. If it fails, the
// error also names the nodes that were missing.
func (s *session) runPartly(find func(*session) error) error {
	p := &partial{Service: s.service}
	one := *s
	one.service = p
	err := find(&one)
	if err != nil && p.missing != nil {
		return errors.Join(p.missing, err)
	}
	return err
}

// runLookup is partly for what is not known only because nodes were missing.
func (s *session) runLookup(find func(*session) error) error {
	err := s.runPartly(find)
	var part *service.Incomplete
	if errors.As(err, &part) {
		return part
	}
	return err
}

// isDeferred reports whether the only fault is that nodes which are away make the change later.
func isDeferred(err error) bool {
	var part *service.Incomplete
	return errors.As(err, &part) && part.Later()
}
