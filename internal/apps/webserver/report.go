package webserver

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/apps/webserver/crawler"
	"hce/dc/internal/apps/webserver/fileserver"
	"hce/dc/internal/files"
)

// report is what the server knows at its end.
type report struct {
	started, ended time.Time
	kernel, user   time.Duration
	status         fileserver.Status
	clients        []fileserver.Client
	others         int64 // requests of further clients
	runs           []crawler.Run
}

// writeReport writes the report to the data folder. A server that dies writes none.
func (s *server) writeReport(now time.Time) error {
	r := report{started: s.started, ended: now, status: s.files.Status()}
	r.clients, r.others = s.files.Clients()
	if s.crawler != nil {
		_, r.runs = s.crawler.Status()
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return fmt.Errorf("report: times of the process: %w", err)
	}
	r.kernel, r.user = time.Duration(usage.Stime.Nano()), time.Duration(usage.Utime.Nano())
	path := filepath.Join(s.cfg.DataDir, "report-"+s.started.UTC().Format("20060102T150405.000Z")+".txt")
	if err := files.Write(path, []byte(r.formatReport()), 0o600); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	s.cfg.Log.Info("web server has ended", "report", path)
	return nil
}

// formatReport is the report.
func (r report) formatReport() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Report of the web server\n\nstarted            %s\nended              %s\n", formatTime(r.started), formatTime(r.ended))
	fmt.Fprintf(&b, "total time         %.3f s\nkernel time        %.3f s\nuser time          %.3f s\n", r.ended.Sub(r.started).Seconds(), r.kernel.Seconds(), r.user.Seconds())
	fmt.Fprintf(&b, "requests           %d\ntimed out in queue %d\nbytes sent         %d\n", r.status.Requests, r.status.TimedOut, r.status.Sent)
	fmt.Fprintf(&b, "\nClients: %d\n%-39s %9s  %s\n", len(r.clients), "address", "requests", "user agent")
	for _, c := range r.clients {
		fmt.Fprintf(&b, "%-39s %9d  %q\n", c.Address, c.Requests, c.Agent)
	}
	if r.others > 0 {
		fmt.Fprintf(&b, "%-39s %9d\n", "further clients", r.others)
	}
	fmt.Fprintf(&b, "\nCrawlers: %d\n%-24s %12s %7s %7s %7s %7s  %s\n", len(r.runs), "arrived", "duration ms", "files", "new", "updated", "removed", "result")
	for _, run := range r.runs {
		result := "complete"
		if run.Error != "" {
			result = fmt.Sprintf("ended early: %q", run.Error)
		}
		fmt.Fprintf(&b, "%-24s %12d %7d %7d %7d %7d  %s\n", formatTime(run.Arrived), run.Duration.Milliseconds(), run.Files, run.New, run.Updated, run.Removed, result)
	}
	return b.String()
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
