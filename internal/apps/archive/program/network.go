package program

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/protocol"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/apps/archive/server"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
)

// defaultPort is that of [Server] and of the address in [Client].
const defaultPort = 5510

// network is [Server] and [Client]. The tokens are read when they are used.
type network struct {
	server      server.Config
	serverToken string // file
	client      client.Config
	clientToken string
}

func readNetwork(f *config.File) (n network) {
	s := f.Section("Server")
	n.server = server.Config{
		Host:          s.Text("host", "127.0.0.1"),
		Port:          int(s.Int("port", defaultPort, 0, 65535)),
		Interval:      s.Duration("interval", time.Second, server.DefaultInterval, 100*time.Millisecond, 24*time.Hour),
		Connections:   int(s.Int("connections", server.DefaultConnections, 2, 100000)),
		Patience:      s.Duration("patience", time.Second, server.DefaultPatience, time.Second, time.Hour),
		Certificate:   s.Path("tls_certificate", ""),
		Key:           s.Path("tls_key", ""),
		AllowInsecure: s.Bool("AllowInsecureRemoteAccess", false),
		MaxFile:       repository.MaxFile,
	}
	n.serverToken = s.Path("token_file", "")
	c := f.Section("Client")
	n.client = client.Config{
		URL:           c.Text("url", "http://127.0.0.1:"+strconv.Itoa(defaultPort)),
		CA:            c.Path("ca_file", ""),
		Patience:      c.Duration("patience", time.Second, client.DefaultPatience, time.Second, time.Hour),
		AllowInsecure: c.Bool("AllowInsecureRemoteAccess", false),
	}
	n.clientToken = c.Path("token_file", "")
	return n
}

// refusedByServer reports whether err is a mistake of the user that the server has found.
func refusedByServer(err error) bool {
	for _, kind := range []error{archive.ErrExists, archive.ErrOutdated, protocol.ErrDenied, protocol.ErrTooLarge} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// networkCommands are the sub-commands of the server and of its clients.
func (p program) networkCommands() []*command.Command {
	return []*command.Command{p.serverCommand(), p.clientCommand(), p.countCommand()}
}

func (p program) serverCommand() *command.Command {
	var o options
	var port string
	c := p.newArchiveCommand(command.Text{
		Name: "server", Summary: "offers the archive to clients",
		Description: `Clients query, read and extend the archive, and are told of new commits, which the server looks
for at the interval of [Server]. It speaks HTTP. SIGTERM and Ctrl-C stop it.

Without a token each user of this machine may use it. If token_file of [Server] is set, the server
makes that file when it is missing, and clients need a copy. Other machines can reach the server
only if host is set; that needs a token and TLS.`,
		Examples: "  archive server --root /srv/archive\n  archive server --root /srv/archive --port 5512",
	}, &o, func(s *session, r *repository.Repository) error { return s.runServer(r, port) })
	c.Text(&port, "port", "", "PORT", "port, instead of port in archive.ini; 0: a free one")
	return c
}

func (s *session) runServer(r *repository.Repository, port string) error {
	cfg := s.network.server
	cfg.Store, cfg.Log = r, s.log
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return command.Refuse("--port %q is not a whole number from 0 to 65535", port)
		}
		cfg.Port = int(n)
	}
	var err error
	if cfg.Token, err = ensureToken(s.serverToken); err != nil {
		return err
	}
	running, err := server.Listen(cfg)
	if err != nil {
		return err
	}
	s.printMessage("serving %s at %s", r.Dir(), running.URL())
	s.log.Info("server runs", "address", running.URL())
	err = running.Run(s.ctx)
	s.log.Info("server stopped", "error", err)
	return err
}

// ensureToken reads a token file, and makes one that is missing.
func ensureToken(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	token = rand.Text() + rand.Text()
	if err := files.Write(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("make token file: %w", err)
	}
	return token, nil
}

// mostToken bounds a token file, in bytes.
const mostToken = 4096

// readToken reads a token file, which only its owner may be able to read. It returns "" without a path.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("token file %s (mode %04o): it must be a file that only its owner can access; run chmod 600, and remove it to get a new token if another user may have read it", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, mostToken))
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < 16 || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", fmt.Errorf("token file %s has no token: one line of at least 16 letters; remove it on the server to get a new one", path)
	}
	return token, nil
}

// newClientCommand is leaf with a client. The option --server overrides the address of [Client].
func (p program) newClientCommand(text command.Text, do func(s *session, c *client.Client) error) *command.Command {
	var o options
	var address string
	c := p.newLeafCommand(text, &o, func(s *session) error {
		cfg := s.network.client
		cfg.URL = cmp.Or(address, cfg.URL)
		var err error
		if cfg.Token, err = readToken(s.clientToken); err != nil {
			return command.Refusal{Err: err}
		}
		cfg.Lost = func(err error) { s.printMessage("%v; trying again", err) }
		c, err := client.New(cfg)
		if err != nil {
			return command.Refusal{Err: err}
		}
		defer c.Close()
		return do(s, c)
	})
	c.Text(&address, "server", "", "URL", "address of the server, instead of url in archive.ini")
	return c
}
