package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
)

// tellService lets systemd, if that started the daemon, know when it runs, that it
// stops, and while all managers answer that it lives (Type=notify, WatchdogSec).
// What cannot be told is a line of the log.
func tellService(cfg *daemon.Config) {
	tell := func(state string) {
		if _, err := sd.SdNotify(false, state); err != nil {
			cfg.Log.Warn("the service manager is not told", "state", state, "error", err)
		}
	}
	cfg.Ready = func(map[string]string) { tell(sd.SdNotifyReady) }
	cfg.Status.Stopping = func() { tell(sd.SdNotifyStopping) }
	// Half of the time, as it advises.
	if limit, err := sd.SdWatchdogEnabled(false); err == nil && limit > 0 {
		cfg.Status.Beat = func() { tell(sd.SdNotifyWatchdog) }
		cfg.Status.BeatEvery = max(limit/2, time.Second)
	}
}

// reopenOnHangup opens the log's file anew at each SIGHUP, until ctx is done.
func reopenOnHangup(ctx context.Context, out *config.Output, log *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				if err := out.Reopen(); err != nil {
					log.Warn("the log is not opened anew", "error", err)
					continue
				}
				log.Info("the log was opened anew")
			case <-ctx.Done():
				return // a further SIGHUP while it stops does nothing
			}
		}
	}()
}
