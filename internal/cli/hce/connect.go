package hce

import (
	"context"
	"io"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// Connect opens the service that hce uses with the options --server, --config and --data, for other
// programs. end closes it. It is not safe for concurrent use.
func Connect(ctx context.Context, server, config, data string, talk io.Writer) (service service.Service, end func(), err error) {
	s := &session{ctx: ctx, options: options{server: server, config: config, data: data}, out: io.Discard, talk: talk}
	if err := s.openService(); err != nil {
		s.closeAll()
		return nil, nil, err
	}
	return s.service, s.closeAll, nil
}

// Sites returns all sites of a service by id, with their counters and without the general one.
func Sites(ctx context.Context, service service.Service) ([]wire.Site, error) {
	s := &session{ctx: ctx, service: service, out: io.Discard, talk: io.Discard}
	return s.listSites("urls", "filters", "properties")
}
