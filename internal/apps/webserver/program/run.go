package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/seedlog"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/files"
)

// runWithSettings reads the configuration, opens the log, and runs work until a signal.
func (o *options) runWithSettings(work func(context.Context, settings) error, console bool) int {
	f, s, err := o.readSettings()
	if o.check && f != nil {
		if f.Report(name, os.Stdout, os.Stderr, s.app.Unwritable()...) {
			return command.ExitDone
		}
		return command.ExitErrors
	}
	if err != nil {
		return reportFailure(command.ExitRefused, err)
	}
	out, err := s.openLog(console)
	if err != nil {
		return reportFailure(command.ExitFailed, err)
	}
	defer out.Close()
	f.LogUnknown(s.log)
	client := fetch.New(fetch.Config{AllowedNetworks: s.serverNetworks})
	defer client.Close()
	s.server.Log, s.server.Crawler.DialServers, s.server.Crawler.DialStore = s.log, client.Dial, (&net.Dialer{}).DialContext
	ctx, stop := untilSignal(out)
	defer stop()
	if err := work(ctx, s); err != nil {
		s.log.Error("the program ended", "error", err)
		return reportFailure(command.ExitFailed, err)
	}
	return command.ExitDone
}

// openLog opens the log in the format of 2009, or as JSON. With a console and a log file, both get it.
func (s *settings) openLog(console bool) (*config.Output, error) {
	if s.app.Log.File != "" {
		if err := os.MkdirAll(filepath.Dir(s.app.Log.File), 0o700); err != nil {
			return nil, fmt.Errorf("folder of the log: %w", err)
		}
	}
	if s.app.Log.Format == "text" {
		s.app.Log.Handler = func(w io.Writer, o *slog.HandlerOptions) slog.Handler {
			if console && s.app.Log.File != "" {
				w = io.MultiWriter(w, os.Stderr)
			}
			return seedlog.New(w, s.app.Name, o.Level)
		}
	}
	var out *config.Output
	var err error
	s.log, _, out, err = s.app.Log.Open(os.Stderr)
	return out, err
}

// untilSignal returns a context that ends at SIGTERM and SIGINT. The second of them ends the process.
// SIGHUP reopens the log.
func untilSignal(out *config.Output) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for got := range signals {
			switch {
			case got == syscall.SIGHUP:
				if err := out.Reopen(); err != nil {
					fmt.Fprintln(os.Stderr, name+": reopen the log:", err)
				}
			case ctx.Err() != nil:
				os.Exit(command.ExitInterrupted)
			default:
				cancel()
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// runStore runs the Web Store with its journal.
func runStore(ctx context.Context, s settings) (err error) {
	c := s.store
	sink, expiry, closeAll, err := openStore(c.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	l, err := net.Listen("tcp", c.address)
	if err != nil {
		return fmt.Errorf("port of the Web Store: %w", err)
	}
	client := fetch.New(fetch.Config{AllowedNetworks: s.storeNetworks})
	defer client.Close()
	c.store.Sink, c.store.Expiry, c.store.Log = sink, expiry, s.log
	c.schedule.Expiry, c.schedule.Log, c.schedule.Dial = expiry, s.log, client.Dial
	begin := make(chan struct{}, 1)
	if c.start {
		begin <- struct{}{}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	go forwardSignals(ctx, signals, begin)
	s.log.Info("Web Store runs", "address", l.Addr().String(), "data", c.dataDir, "documents", sink.Documents())
	var scheduled sync.WaitGroup
	defer scheduled.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scheduled.Go(func() { c.schedule.Run(ctx, begin) })
	return webstore.New(c.store).Serve(ctx, l)
}

// openStore creates and locks the data folder of the Web Store, and opens its files.
func openStore(folder string) (sink *webstore.Journal, expiry *webstore.Expiry, closeAll func() error, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("create the data folder: %w", err)
	}
	unlock, err := files.TryLockPID(filepath.Join(folder, "store.lock"))
	if errors.Is(err, files.ErrLocked) {
		return nil, nil, nil, fmt.Errorf("another Web Store works in %s (%w); stop it, or give this one a data_dir of its own", folder, err)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("data folder %s: %w", folder, err)
	}
	if sink, err = webstore.OpenJournal(filepath.Join(folder, "documents.jsonl"), time.Now); err == nil {
		if expiry, err = webstore.OpenExpiry(filepath.Join(folder, "expiry.jsonl")); err != nil {
			_ = sink.Close()
		}
	}
	if err != nil {
		unlock()
		return nil, nil, nil, err
	}
	return sink, expiry, func() error {
		defer unlock()
		return errors.Join(expiry.Close(), sink.Close())
	}, nil
}

// forwardSignals makes signals to requests to begin; those that come while one waits are one with it.
func forwardSignals(ctx context.Context, signals <-chan os.Signal, begin chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		select {
		case begin <- struct{}{}:
		default:
		}
	}
}
