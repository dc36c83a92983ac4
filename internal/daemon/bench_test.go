package daemon

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

// A request through TCP, two managers, a worker and back, with small and large answers.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{100, 10 << 20} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			cfg, _ := config(b)
			cfg.Log = slog.New(slog.DiscardHandler)
			r := start(b, cfg)
			c := r.client()
			object := strings.Repeat("x", size)
			b.SetBytes(int64(size))
			for b.Loop() {
				c.Ask(wire.ClassClient, int(wire.SiteStatus), object)
			}
		})
	}
}

// As many concurrent requests as there are workers.
func BenchmarkManyRequests(b *testing.B) {
	cfg, _ := config(b)
	cfg.Log = slog.New(slog.DiscardHandler)
	r := start(b, cfg)
	c := r.client()
	const together = 32
	for b.Loop() {
		for range together {
			c.Send(managertest.Event(b, wire.ClassClient, int(wire.SiteStatus), nil))
		}
		for range together {
			c.Recv()
		}
	}
	b.ReportMetric(float64(b.N*together)/b.Elapsed().Seconds(), "requests/s")
}
