// Package rig runs a crawler on one machine for one run: a dc-daemon on a new data folder,
// driven with dc-client and dc-admin as an operator does.
//
//	r, err := rig.Start(ctx, rig.Options{Bin: "bin", Ini: "ini", Data: dir, AllowLoopback: true})
//	if err != nil { ... }
//	defer r.Close()
//	id, err := r.NewSite(ctx, rig.Site{Root: "http://127.0.0.1:8000/"})
//	...
//	err = r.Stop(ctx)
//
// The demo, the benchmark and tests use it. It depends only on the programs and their JSON.
// No process that it starts outlives it: the daemon has its own process group, is killed
// with its parent on Linux (package childprocess), and Close kills its whole process tree.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"hce/dc/internal/childprocess"
)

// Deadlines of single steps.
const (
	startLimit = 30 * time.Second // until the daemon answers dc-admin
	stopLimit  = 30 * time.Second // from STOP to the end of the daemon
	closeLimit = 5 * time.Second  // from SIGTERM to SIGKILL in Close
	askLimit   = 2 * time.Minute  // one run of dc-client or dc-admin
)

// Options are folders and settings. Relative paths start at the working directory.
type Options struct {
	Bin  string // with dc-daemon, dc-client, dc-admin and the task programs
	Ini  string // with dc-daemon.ini, dc-client.ini, dc-admin.ini
	Data string // data folder, created if missing
	// AllowLoopback lets the crawler fetch from 127.0.0.0/8, which its egress guard denies
	// by default.
	AllowLoopback bool
	// Env is appended to the environment of the daemon and its tasks:
	// DC_<Section>_<key>=value overrides a key of an ini file.
	Env []string

	// The rest is for StartCluster.

	// Brokers are NATS servers, "nats://host:port", for the head; none: the head runs one itself.
	// NewKey, if not nil, is called when the head has created a key, which the servers must learn.
	Brokers []string
	NewKey  func() error
	// Relays puts a relay between each node and each broker: see Cluster.Link.
	Relays bool
	// NodeEnv, if not nil, returns what is appended to the environment of a node.
	NodeEnv func(name string) []string
}

// Rig is a running daemon. Not safe for concurrent use.
type Rig struct {
	*program
	options    Options
	clientPort int
	adminPort  int
	release    func() // of the ports
}

// Start starts the daemon and waits until dc-admin STAT answers. On an error nothing keeps
// running. Cancelling ctx ends the wait, not a running daemon.
func Start(ctx context.Context, o Options) (*Rig, error) {
	if err := o.completePaths(); err != nil {
		return nil, fmt.Errorf("start daemon: %w", err)
	}
	ports, release, err := childprocess.FreePorts(2)
	if err != nil {
		return nil, fmt.Errorf("start daemon: %w", err)
	}
	r := &Rig{options: o, clientPort: ports[0], adminPort: ports[1], release: release}
	if err := r.startAndAwait(ctx); err != nil {
		release()
		return nil, fmt.Errorf("start daemon: %w", err)
	}
	return r, nil
}

// startAndAwait starts the program and waits for its answer.
func (r *Rig) startAndAwait(ctx context.Context) (err error) {
	r.program, err = startProgram(r.options.Bin, "dc-daemon", filepath.Join(r.options.Data, "daemon.out"), append(r.Env(), r.options.Env...),
		"-c", filepath.Join(r.options.Ini, "dc-daemon.ini"))
	if err != nil {
		return err
	}
	if err := r.awaitAnswer(ctx); err != nil {
		r.program.stopProgram()
		return err
	}
	return nil
}

// completePaths makes the paths absolute and creates the data folder.
func (o *Options) completePaths() error {
	for _, path := range []*string{&o.Bin, &o.Ini, &o.Data} {
		full, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = full
	}
	return os.MkdirAll(o.Data, 0o700)
}

// Env is the environment of daemon, client and admin tool.
func (r *Rig) Env() []string {
	env := append(os.Environ(),
		"DC_Application_data_dir="+r.options.Data,
		"DC_ClientInterfaceService_serverPort="+strconv.Itoa(r.clientPort),
		"DC_AdminInterfaceServer_serverPort="+strconv.Itoa(r.adminPort),
		"DC_dcc_clientPort="+strconv.Itoa(r.clientPort),
		"DC_dtma_clientPort="+strconv.Itoa(r.adminPort),
		"DC_dtma_keys="+filepath.Join(r.options.Data, "keys"),
		"DC_Api_ApiPort=0",
	)
	if r.options.AllowLoopback {
		env = append(env, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8")
	}
	return env
}

// awaitAnswer polls with STAT until the daemon answers.
func (r *Rig) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		once, done := context.WithTimeout(ctx, 2*time.Second)
		_, err := r.Stat(once, "AdminInterfaceServer")
		done()
		if err == nil {
			return nil
		}
		select {
		case <-r.ended:
			return fmt.Errorf("dc-daemon ended at its start: %w%s", r.endError(), r.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("dc-daemon does not answer: %w%s", err, r.lastWords())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ClientPort is the port of 127.0.0.1 on which the daemon answers clients.
func (r *Rig) ClientPort() int { return r.clientPort }

// Stop stops the daemon with dc-admin STOP and waits for its end. It is an error if the
// daemon does not end in time or exits with another code than 0.
func (r *Rig) Stop(ctx context.Context) error {
	if _, err := r.runAdmin(ctx, "--cmd", "STOP"); err != nil {
		return fmt.Errorf("stop daemon: %w%s", err, r.lastWords())
	}
	select {
	case <-r.ended:
	case <-time.After(stopLimit):
		return errors.New("stop daemon: dc-daemon still runs after STOP" + r.lastWords())
	case <-ctx.Done():
		return fmt.Errorf("stop daemon: %w", ctx.Err())
	}
	if r.endErr != nil {
		return fmt.Errorf("stop daemon: dc-daemon: %w%s", r.endErr, r.lastWords())
	}
	return nil
}

// Close ends a running daemon: SIGTERM first, then SIGKILL to it and all its descendants.
// It may be called more than once, and after Stop. Until Close no other rig gets the ports.
func (r *Rig) Close() {
	defer r.release()
	r.program.stopProgram()
}
