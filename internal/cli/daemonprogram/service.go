package daemonprogram

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

// tellService reports to systemd, if it started the daemon: ready, stopping, and the watchdog
// while all managers answer (Type=notify, WatchdogSec). Failures are logged.
func tellService(cfg *daemon.Config) {
	tell := func(state string) {
		if _, err := sd.SdNotify(false, state); err != nil {
			cfg.Log.Warn("cannot notify the service manager", "state", state, "error", err)
		}
	}
	cfg.Ready = func(map[string]string) { tell(sd.SdNotifyReady) }
	cfg.Status.Stopping = func() { tell(sd.SdNotifyStopping) }
	// Half of the limit, as sd_watchdog_enabled(3) recommends.
	if limit, err := sd.SdWatchdogEnabled(false); err == nil && limit > 0 {
		cfg.Status.Beat = func() { tell(sd.SdNotifyWatchdog) }
		cfg.Status.BeatEvery = max(limit/2, time.Second)
	}
}

// reopenOnHangup reopens the log file at each SIGHUP until ctx ends.
func reopenOnHangup(ctx context.Context, out *config.Output, log *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				if err := out.Reopen(); err != nil {
					log.Warn("cannot reopen the log", "error", err)
					continue
				}
				log.Info("log reopened")
			case <-ctx.Done():
				return // further SIGHUPs are ignored
			}
		}
	}()
}
