package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/apps/search/frontend"
	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/apps/search/processor"
	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/daemon/bus"
)

func (p program) serveCommand() *command.Command {
	var o options
	c := p.newSubcommand(command.Text{
		Name: "serve", Summary: "runs the web page and the Query Manager",
		Description: `The web page is at http://127.0.0.1:8090/ and the manager at port 5511, unless the ini file says
otherwise. It answers questions by itself, and shares them with all processors that join.
--processors N starts N processors as child processes instead, with the settings of [Processor]; they
are started again if they end. With 0, questions wait until a processor has joined.

Cached copies and versions come from the cluster, which may be away: the options are those of
hce-search index.`,
		Examples: `  hce-search serve
  hce-search serve --processors 2
  hce-search serve -c /etc/hce-search/hce-search.ini`,
	}, &o, (*run).runServe)
	dirOption(c, &o)
	clusterOptions(c, &o)
	c.Text(&o.processors, "processors", "", "N", "processors to start as child processes, 0 to 64; without it, this process answers")
	return c
}

func (r *run) runServe() error {
	children, err := parseNumber("--processors", r.processors, 0, 64)
	if err != nil {
		return command.Refusal{Err: err}
	}
	dir, err := r.indexFolder(r.dir())
	if err != nil {
		return command.Refusal{Err: err}
	}
	if r.archive != "" {
		store, err := repository.Open(r.archive)
		if err != nil {
			return command.Refusal{Err: fmt.Errorf("archive of [Frontend]: %w", err)}
		}
		defer store.Close()
		r.frontend.Sources = []frontend.Source{&frontend.Archive{Store: store}}
	}
	b, err := bus.New()
	if err != nil {
		return err
	}
	defer b.Term(time.Second)
	r.manager.Bus, r.manager.Log = b, r.log
	m := manager.New(r.manager)
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	l, err := net.Listen("tcp", net.JoinHostPort(strings.Trim(r.host, "[]"), strconv.Itoa(r.port)))
	if err != nil {
		return fmt.Errorf("start the web page: %w; set another port in [Frontend]", err)
	}
	service := r.newCluster()
	defer service.Close()
	r.frontend.Engine = manager.Client{Bus: b, Endpoint: m.Local(), Timeout: r.manager.Deadline + 2*time.Second}
	r.frontend.Cluster, r.frontend.Log = &frontend.Cluster{Service: service}, r.log
	failed := make(chan error, 3)
	parts := 0
	start := func(part func(context.Context) error) {
		parts++
		go func() { failed <- part(ctx); stop() }()
	}
	start(m.Run)
	select {
	case endpoint := <-m.Bound():
		if r.processors == "" {
			start(r.ownProcessor(b, m, dir).Run)
		}
		r.startProcessors(ctx, int(children), endpoint, dir)
	case err := <-failed:
		l.Close()
		return err
	}
	r.log.Info("web page is ready", "url", "http://"+l.Addr().String()+"/")
	start(func(ctx context.Context) error { return frontend.New(r.frontend).Serve(ctx, l) })
	var all error
	for range parts {
		all = errors.Join(all, <-failed)
	}
	return all
}

// ownProcessor is the processor of serve itself.
func (r *run) ownProcessor(b *bus.Bus, m *manager.Manager, dir string) *processor.Processor {
	c := r.settings.processor
	c.Bus, c.Manager, c.Dir, c.Log = b, m.Local(), dir, r.log
	c.Name = cmp.Or(c.Name, "serve")
	return processor.New(c)
}

// startProcessors starts processors as child processes.
func (r *run) startProcessors(ctx context.Context, n int, endpoint, dir string) {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(endpoint, "tcp://"))
	for i := range n {
		args := []string{"processor", "--dir", dir, "--name", fmt.Sprintf("qp-%d", i+1)}
		if r.config != "" {
			args = append(args, "--config", r.config)
		}
		go func() { // ends with ctx
			for ctx.Err() == nil {
				cmd := childprocess.Self(args...)
				cmd.Env = append(os.Environ(), "DC_Manager_port="+port)
				cmd.Stderr = r.talk
				ended, err := childprocess.Start(cmd)
				if err == nil {
					select {
					case err = <-ended:
					case <-ctx.Done():
						_ = cmd.Process.Kill() // it reads only
						<-ended
						return
					}
				}
				r.log.Warn("processor ended; starting it again", "name", args[4], "error", err)
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		}()
	}
}
