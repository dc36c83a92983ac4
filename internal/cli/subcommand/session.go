package subcommand

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
)

const dialLimit = 3 * time.Second

// Options are those of every sub-command.
type Options struct {
	Config, Server, Data string
	JSON, ShowRequest    bool

	Networks, Ini string // of the commands that fetch
}

// Session is one run of a sub-command.
type Session struct {
	Options
	Ctx       context.Context
	Out, Talk io.Writer
	Service   service.Service // set by OpenService
	Clients   client.Server   // the client port of the daemon; zero if the service is a folder
	Node      *node.Node      // set if the service is a folder of hce
	Closers   []func()
}

// CloseAll closes what the run has opened.
func (s *Session) CloseAll() {
	for i := len(s.Closers) - 1; i >= 0; i-- {
		s.Closers[i]()
	}
}

// Place is where the data are.
type Place struct {
	Server *client.Server // a daemon; nil: the folder
	Dir    string
	Tried  string // the daemon that did not answer, for messages
}

// FindPlace returns the daemon of --server or --config, the folder of --data, the daemon of this machine,
// or the user's folder, in this order.
func (o Options) FindPlace() (Place, error) {
	if o.Data != "" {
		if o.Server != "" || o.Config != "" {
			return Place{}, command.Refuse("--data is a folder without a running daemon; it does not go with --server and --config")
		}
		return Place{Dir: o.Data}, nil
	}
	server, err := o.readServer()
	if err != nil {
		return Place{}, command.Refusal{Err: err}
	}
	address := net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
	conn, err := net.DialTimeout("tcp", address, dialLimit)
	if err == nil {
		conn.Close()
		return Place{Server: &server}, nil
	}
	if o.Server != "" || o.Config != "" {
		return Place{}, fmt.Errorf("cannot reach the daemon at %s: %w; start dc-daemon, or leave out --server and --config to use a folder of hce", address, err)
	}
	dir, err := datafolder.DefaultDir(os.Getenv)
	if err != nil {
		return Place{}, command.Refusal{Err: err}
	}
	return Place{Dir: dir, Tried: address}, nil
}

// readServer reads the address and the keys of the daemon: the ini file of dc-client, if there is
// one, and --server.
func (o Options) readServer() (client.Server, error) {
	server, _, err := client.ReadClients(o.Config)
	if err != nil || o.Server == "" {
		return server, err
	}
	host, port, err := net.SplitHostPort(o.Server)
	n, numberErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numberErr != nil || n == 0 {
		return client.Server{}, fmt.Errorf("--server %q is not HOST:PORT; the client port of a daemon is usually %d", o.Server, client.DefaultPort)
	}
	server.Host, server.Port = cmp.Or(host, client.LocalHost), int(n)
	return server, nil
}

// OpenService opens the service for a sub-command that needs stored data.
func (s *Session) OpenService() error {
	at, err := s.FindPlace()
	if err != nil {
		return err
	}
	if at.Server != nil {
		s.Clients = *at.Server
		s.UseService(s.Clients)
		return nil
	}
	if !datafolder.Exists(at.Dir) {
		return errors.New(s.NoDataMessage(at))
	}
	return s.OpenFolder(at.Dir)
}

// OpenSite connects and finds a site (see FindSite).
func (s *Session) OpenSite(typed string) (wire.Site, error) {
	if err := s.OpenService(); err != nil {
		return wire.Site{}, err
	}
	return s.FindSite(typed)
}

// OpenRow connects and finds a stored URL (see StoredRow).
func (s *Session) OpenRow(typed, site string) (wire.URL, error) {
	if err := s.OpenService(); err != nil {
		return wire.URL{}, err
	}
	return s.StoredRow(typed, site)
}

// NoDataMessage is the message for a folder without data.
func (o Options) NoDataMessage(p Place) string {
	text := "the folder " + p.Dir + " has no crawl yet; start with: " + o.CommandHint("crawl", "URL")
	if p.Tried != "" {
		text = "no daemon answers at " + p.Tried + ", and " + text
	}
	return text
}

// OpenFolder makes the stores of a folder the service.
func (s *Session) OpenFolder(dir string) error {
	programs, err := node.Programs()
	if err != nil {
		return err
	}
	if s.Node, err = node.Open(dir, programs); err != nil {
		return err
	}
	stores, err := s.Node.Stores()
	if err != nil {
		return err
	}
	s.Closers = append(s.Closers, stores.Close)
	s.UseService(stores)
	return nil
}

// UseService makes service the service of the session.
func (s *Session) UseService(service service.Service) {
	if s.ShowRequest {
		service = shown{service, s.Talk}
	}
	s.Service = service
}

// AskService sends an operation to the service.
func (s *Session) AskService(op wire.Op, request, answer any) error {
	return s.Service.Ask(s.Ctx, op, request, answer)
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

// PrintMessage prints a line for the person at the terminal.
func (s *Session) PrintMessage(format string, args ...any) { fmt.Fprintf(s.Talk, format+"\n", args...) }

// PrintNamed prints a named value for a person.
func (s *Session) PrintNamed(name, format string, args ...any) {
	fmt.Fprintf(s.Out, "%-12s %s\n", name, plaintext.Clean(fmt.Sprintf(format, args...)))
}

// PrintJSON prints a value for a machine.
func (s *Session) PrintJSON(value any) error { return command.PrintJSON(s.Out, value) }

// ConnectOrCreate is OpenService for a sub-command that may create the folder of hce.
func (s *Session) ConnectOrCreate() error {
	at, err := s.FindPlace()
	switch {
	case err != nil:
		return err
	case at.Server != nil:
		s.Clients = *at.Server
		s.UseService(s.Clients)
		return nil
	}
	return s.OpenFolder(at.Dir)
}

// SayDamaged names a page that an export leaves out.
func (s *Session) SayDamaged(row *wire.URL, err error) {
	s.PrintMessage("left out %s: %v", plaintext.Cut(row.URL, plaintext.LongestURL), err)
}

// Statuses are those of a GeneralResponse, of each node if their answers are joined.
type Statuses struct {
	Statuses []any `json:"statuses"`
}

// IsDone reports whether all are 0.
func (s Statuses) IsDone() bool {
	return !slices.ContainsFunc(s.Statuses, func(status any) bool { return fmt.Sprint(status) != "0" })
}

// ErrEnough ends a reading before its end.
var ErrEnough = errors.New("enough")
