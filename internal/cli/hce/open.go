package hce

import (
	"context"
	"io"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// Place says where the data are. Empty fields are found as hce finds them: the daemon of this machine,
// else the user's folder.
type Place struct{ Server, Config, Data string }

// Opened is the service of another program that works with the data of hce. Close it after use.
type Opened struct{ s *session }

// Open opens the data of a place. With create a folder that does not exist is created. Messages for a
// person go to talk. Exit returns the exit status of all errors.
func Open(ctx context.Context, p Place, talk io.Writer, create bool) (*Opened, error) {
	s := &session{ctx: ctx, options: options{server: p.Server, config: p.Config, data: p.Data}, out: talk, talk: talk}
	open := s.openService
	if create {
		open = s.connectOrCreate
	}
	if err := open(); err != nil {
		s.closeAll()
		return nil, err
	}
	return &Opened{s}, nil
}

// Service answers operations.
func (o *Opened) Service() service.Service { return o.s.service }

// Site finds a site by its id or one of its root URLs.
func (o *Opened) Site(typed string) (wire.Site, error) { return o.s.findSite(typed) }

// SiteFor returns the site that typed names, or that of the first page of an import if typed is "". It
// creates a site that is not known, whose root URL is not fetched.
func (o *Opened) SiteFor(typed, first string) (wire.Site, error) { return o.s.importSite(typed, first) }

// Close ends what Open has started.
func (o *Opened) Close() { o.s.closeAll() }

// Exit returns the exit status of an error of this package and of package client.
func Exit(err error) int { return exitOf(err) }
