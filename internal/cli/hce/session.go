package hce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
)

const dialLimit = 3 * time.Second

// options are those of every sub-command.
type options struct {
	config, server, data string
	json, showRequest    bool

	networks, ini string // of the commands that fetch
}

// session is one run of a sub-command.
type session struct {
	options
	ctx       context.Context
	out, talk io.Writer
	service   service.Service // set by openService
	clients   client.Server   // the client port of the daemon; zero if the service is a folder
	node      *node.Node      // set if the service is a folder of hce
	closers   []func()
}

// closeAll closes what the run has opened.
func (s *session) closeAll() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// place is where the data are.
type place struct {
	server *client.Server // a daemon; nil: the folder
	dir    string
	tried  string // the daemon that did not answer, for messages
}

// findPlace returns the daemon of --server or --config, the folder of --data, the daemon of this machine,
// or the user's folder, in this order.
func (o options) findPlace() (place, error) {
	if o.data != "" {
		if o.server != "" || o.config != "" {
			return place{}, command.Refuse("--data is a folder without a running daemon; it does not go with --server and --config")
		}
		return place{dir: o.data}, nil
	}
	server, err := o.readServer()
	if err != nil {
		return place{}, command.Refusal{Err: err}
	}
	address := net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
	conn, err := net.DialTimeout("tcp", address, dialLimit)
	if err == nil {
		conn.Close()
		return place{server: &server}, nil
	}
	if o.server != "" || o.config != "" {
		return place{}, fmt.Errorf("cannot reach the daemon at %s: %w; start dc-daemon, or leave out --server and --config to use a folder of hce", address, err)
	}
	dir, err := datafolder.DefaultDir(os.Getenv)
	if err != nil {
		return place{}, command.Refusal{Err: err}
	}
	return place{dir: dir, tried: address}, nil
}

// readServer reads the address and the keys of the daemon: the ini file of dc-client, if there is
// one, and --server.
func (o options) readServer() (client.Server, error) {
	server, _, err := client.ReadClients(o.config)
	if err != nil || o.server == "" {
		return server, err
	}
	host, port, err := net.SplitHostPort(o.server)
	n, numberErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numberErr != nil || n == 0 {
		return client.Server{}, fmt.Errorf("--server %q is not HOST:PORT; the client port of a daemon is usually %d", o.server, client.DefaultPort)
	}
	server.Host, server.Port = cmp.Or(host, client.LocalHost), int(n)
	return server, nil
}

// openService opens the service for a sub-command that needs stored data.
func (s *session) openService() error {
	at, err := s.findPlace()
	if err != nil {
		return err
	}
	if at.server != nil {
		s.clients = *at.server
		s.useService(s.clients)
		return nil
	}
	if !datafolder.Exists(at.dir) {
		return errors.New(s.noDataMessage(at))
	}
	return s.openFolder(at.dir)
}

// openSite connects and finds a site (see findSite).
func (s *session) openSite(typed string) (wire.Site, error) {
	if err := s.openService(); err != nil {
		return wire.Site{}, err
	}
	return s.findSite(typed)
}

// openRow connects and finds a stored URL (see storedRow).
func (s *session) openRow(typed, site string) (wire.URL, error) {
	if err := s.openService(); err != nil {
		return wire.URL{}, err
	}
	return s.storedRow(typed, site)
}

// noDataMessage is the message for a folder without data.
func (o options) noDataMessage(p place) string {
	text := "the folder " + p.dir + " has no crawl yet; start with: " + o.commandHint("crawl", "URL")
	if p.tried != "" {
		text = "no daemon answers at " + p.tried + ", and " + text
	}
	return text
}

// openFolder makes the stores of a folder the service.
func (s *session) openFolder(dir string) error {
	programs, err := node.Programs()
	if err != nil {
		return err
	}
	if s.node, err = node.Open(dir, programs); err != nil {
		return err
	}
	stores, err := s.node.Stores()
	if err != nil {
		return err
	}
	s.closers = append(s.closers, stores.Close)
	s.useService(stores)
	return nil
}

// useService makes service the service of the session.
func (s *session) useService(service service.Service) {
	if s.showRequest {
		service = shown{service, s.talk}
	}
	s.service = service
}

func (s *session) askService(op wire.Op, request, answer any) error {
	return s.service.Ask(s.ctx, op, request, answer)
}

// shown prints each operation in the form that db-task reads, without the values of secret properties.
type shown struct {
	service.Service
	talk io.Writer
}

func (s shown) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	if text, err := json.Marshal(request); err == nil {
		fmt.Fprintf(s.talk, "[\"%s\",%s]\n", op, secret.ShowRequest(text))
	}
	return s.Service.Ask(ctx, op, request, answer)
}

// printMessage prints a line for the person at the terminal.
func (s *session) printMessage(format string, args ...any) { fmt.Fprintf(s.talk, format+"\n", args...) }

// printNamed prints a named value for a person.
func (s *session) printNamed(name, format string, args ...any) {
	fmt.Fprintf(s.out, "%-12s %s\n", name, cleanLine(fmt.Sprintf(format, args...)))
}

// printJSON prints a value for a machine.
func (s *session) printJSON(value any) error { return command.PrintJSON(s.out, value) }

// connectOrCreate is connect for a sub-command that may create the folder of hce.
func (s *session) connectOrCreate() error {
	at, err := s.findPlace()
	switch {
	case err != nil:
		return err
	case at.server != nil:
		s.clients = *at.server
		s.useService(s.clients)
		return nil
	}
	return s.openFolder(at.dir)
}
