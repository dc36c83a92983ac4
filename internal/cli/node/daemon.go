package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/client"
	"hce/dc/internal/wire"
)

const (
	startLimit = 30 * time.Second // until the daemon answers
	stopLimit  = 30 * time.Second // from SIGTERM to SIGKILL
	askLimit   = 90 * time.Second // for one answer
)

// Options of the programs.
type Options struct {
	// AllowNetworks are networks that are not public and may be crawled, such as 127.0.0.0/8.
	AllowNetworks string
}

func (o Options) environmentOf() []string {
	if o.AllowNetworks == "" {
		return nil
	}
	return []string{"DC_CrawlerTask_AllowedNetworks=" + o.AllowNetworks}
}

// Daemon is a running dc-daemon on free ports of the loopback address.
type Daemon struct {
	client.Server
	cmd   *exec.Cmd
	ended chan struct{} // closed when the daemon has ended
	err   error         // of Wait; valid after ended is closed
	log   string
	since int64  // where the lines of this daemon begin in the log
	crawl tail   // of crawler-task
	ready string // URL that says what keeps the daemon from working
}

// Start starts the daemon and waits until it answers clients. On an error nothing keeps running.
func (n *Node) Start(ctx context.Context, o Options) (*Daemon, error) {
	ports, release, err := childprocess.FreePorts(3)
	if err != nil {
		return nil, fmt.Errorf("start dc-daemon: %w", err)
	}
	defer release() // the daemon listens, or has ended
	d := &Daemon{
		Server: client.Server{Host: "127.0.0.1", Port: ports[0], Timeout: askLimit},
		ended:  make(chan struct{}), log: filepath.Join(n.LogDir(), "dc-daemon.log"),
	}
	out, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start dc-daemon: %w", err)
	}
	defer out.Close() // the daemon has its own copy
	if info, err := out.Stat(); err == nil {
		d.since = info.Size()
	}
	d.ready = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[2])) + "/readyz"
	d.crawl = tailOf(filepath.Join(n.LogDir(), "crawler-task.log"))
	d.cmd = exec.Command(n.programPath("dc-daemon"), "-c", filepath.Join(n.IniDir(), "dc-daemon.ini"))
	d.cmd.Env = append(n.programEnvironment(),
		"DC_ClientInterfaceService_serverPort="+strconv.Itoa(ports[0]),
		"DC_AdminInterfaceServer_serverPort="+strconv.Itoa(ports[1]),
		"DC_StatusServer_StatusPort="+strconv.Itoa(ports[2]), "DC_Api_ApiPort=0")
	d.cmd.Env = append(d.cmd.Env, o.environmentOf()...)
	d.cmd.Stdout, d.cmd.Stderr = out, out
	ended, err := childprocess.Start(d.cmd)
	if err != nil {
		return nil, fmt.Errorf("start dc-daemon: %w", err)
	}
	go func() { // ends with the daemon
		d.err = <-ended
		close(d.ended)
	}()
	if err = d.awaitAnswer(ctx); err != nil {
		_ = d.Stop()
		return nil, fmt.Errorf("start dc-daemon in %s: %w", n.Dir, err)
	}
	return d, nil
}

// programEnvironment lets the programs use the folder of the node, whatever the variables of the caller
// say.
func (n *Node) programEnvironment() []string {
	quoted := func(program, args string) string { return `"` + n.programPath(program) + `" ` + args }
	return append(os.Environ(),
		"DC_Application_data_dir="+n.DataDir(),
		"DC_SitesManager_DRCEDBAppName="+quoted("db-task", "-c db-task.ini"),
		"DC_BatchTasksManager_DRCEDBAppName="+quoted("db-task", "-c db-task.ini"),
		"DC_BatchTasksManager_DRCECrawlerAppName="+quoted("crawler-task", "-c crawler-task.ini"),
		"DC_BatchTasksManagerProcess_DRCEProcessorAppName="+quoted("processor-task", "-c processor-task.ini"),
		"DC_BatchTasksManagerRealTime_DRCECrawlerAppName="+quoted("crawler-task", "-c crawler-task.ini"),
		"DC_BatchTasksManagerRealTime_DRCEProcessorAppName="+quoted("processor-task", "-c processor-task.ini --finalize"),
	)
}

// awaitAnswer waits until the daemon answers.
func (d *Daemon) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	go func() { // ends with the daemon or with ctx: a request does not outlast the daemon
		select {
		case <-d.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	ready := d.Server
	ready.Timeout = 2 * time.Second
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ready.Ask(ctx, wire.SiteStatus, map[string]any{"id": wire.GeneralSite}, nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
			continue
		}
		select {
		case <-d.ended:
			return d.describeEnd()
		default:
			return fmt.Errorf("%w%s", ctx.Err(), d.lastWords())
		}
	}
}

// Ended is closed when the daemon has ended.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// describeEnd describes a daemon that ended by itself.
func (d *Daemon) describeEnd() error {
	if d.err == nil {
		return errors.New("dc-daemon ended" + d.lastWords())
	}
	return fmt.Errorf("dc-daemon ended: %w%s", d.err, d.lastWords())
}

// Stop ends the daemon and its programs. Their work is stored or handed back. It may be called
// more than once. The error means that the daemon had to be killed or did not end well; what is
// stored is whole in any case.
func (d *Daemon) Stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended
	select {
	case <-d.ended:
	case <-time.After(stopLimit):
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		<-d.ended
	}
	if d.err != nil {
		return d.describeEnd()
	}
	return nil
}

// String names the daemon in messages.
func (d *Daemon) String() string { return "dc-daemon of hce" }

// lastWords returns the end of the daemon's log, for messages.
func (d *Daemon) lastWords() string {
	text, err := os.ReadFile(d.log)
	if err != nil || int64(len(text)) <= d.since {
		return ""
	}
	const most = 500
	text = text[d.since:]
	return "; its log " + d.log + " ends with: " + strings.TrimSpace(string(text[max(0, len(text)-most):]))
}
