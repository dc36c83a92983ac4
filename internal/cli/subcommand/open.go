package subcommand

import (
	"context"
	"io"
)

// Open opens the service of options for a program that works with the data of hce. With create a folder that does not exist
// is created. Messages for a person go to talk. The caller closes it with CloseAll.
func Open(ctx context.Context, o Options, talk io.Writer, create bool) (*Session, error) {
	s := &Session{Ctx: ctx, Options: o, Out: talk, Talk: talk}
	open := s.OpenService
	if create {
		open = s.ConnectOrCreate
	}
	if err := open(); err != nil {
		s.CloseAll()
		return nil, err
	}
	return s, nil
}
