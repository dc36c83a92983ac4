package webserver

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hce/dc/internal/apps/webserver/control"
	"hce/dc/internal/apps/webserver/crawler"
	"hce/dc/internal/apps/webserver/fileserver"
)

// Commands of the console and of the socket.
const (
	Off    = "off"    // out of service, with a reason
	On     = "on"     // into service
	Show   = "status" // the state
	List   = "files"  // the indexed files with their MD5
	Finish = "stop"   // orderly stop
)

// State is what the command status tells.
type State struct {
	Started     time.Time `json:"started"`
	Folder      string    `json:"folder"`
	CrawlerRuns bool      `json:"crawlerRuns"`
	Crawlers    int       `json:"crawlers"` // that have ended
	fileserver.Status
}

// answerCommand answers a command.
func (s *server) answerCommand(r control.Request) control.Reply {
	switch r.Command {
	case Off:
		reason := cmp.Or(strings.TrimSpace(r.Reason), "maintenance")
		s.files.Off(reason)
		s.cfg.Log.Warn("out of service", "reason", reason)
		return control.Reply{Text: "the server is out of service: " + reason}
	case On:
		s.files.On()
		s.cfg.Log.Info("in service")
		return control.Reply{Text: "the server is in service"}
	case Show:
		st := s.currentState()
		return newReply(st.formatState(), st)
	case List:
		list := []crawler.Entry{}
		if s.crawler != nil {
			list = s.crawler.Files()
		}
		var text strings.Builder
		for _, e := range list {
			fmt.Fprintf(&text, "%s  %s\n", e.MD5, e.URL)
		}
		return newReply(fmt.Sprintf("%s%d files", text.String(), len(list)), list)
	case Finish:
		s.cfg.Log.Info("stopped by a command")
		s.stop()
		return control.Reply{Text: "the server stops"}
	}
	return control.Reply{Error: fmt.Sprintf("unknown command %q; use %s, %s, %s, %s or %s", r.Command, Off, On, Show, List, Finish)}
}

func newReply(text string, data any) control.Reply {
	b, err := json.Marshal(data)
	if err != nil {
		return control.Reply{Error: err.Error()}
	}
	return control.Reply{Text: text, Data: b}
}

func (s *server) currentState() State {
	st := State{Started: s.started.UTC(), Folder: s.cfg.Folder, Status: s.files.Status()}
	if s.crawler != nil {
		runs, ended := s.crawler.Status()
		st.CrawlerRuns, st.Crawlers = runs, len(ended)
	}
	return st
}

// formatState is the state for people.
func (st State) formatState() string {
	service := "in service"
	if !st.InService {
		service = "out of service: " + st.Reason
	}
	crawls := "none runs"
	if st.CrawlerRuns {
		crawls = "one runs"
	}
	return fmt.Sprintf(`server       %s, since %s
folder       %s
requests     %d; now %d in work, %d in the queue (most: %d); %d timed out in the queue
connections  %d open
sent         %d bytes; %d since the server came into service
crawlers     %s; %d ended`, service, st.Started.Format(time.RFC3339), st.Folder, st.Requests, st.Working, st.Waiting, st.LongestWait,
		st.TimedOut, st.Connections, st.Sent, st.Flow, crawls, st.Crawlers)
}

// serveConsole answers the lines of the console, each a command and its reason.
func (s *server) serveConsole() {
	lines := bufio.NewScanner(s.cfg.Console)
	for lines.Scan() {
		command, reason, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if command == "" {
			continue
		}
		r := s.answerCommand(control.Request{Command: command, Reason: reason})
		fmt.Fprintln(s.cfg.Output, cmp.Or(r.Error, r.Text))
	}
}
