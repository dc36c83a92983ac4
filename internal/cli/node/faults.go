package node

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tail is the part of a log file that is written from now on.
type tail struct {
	path  string
	since int64
}

func tailOf(path string) tail {
	info, err := os.Stat(path)
	if err != nil {
		return tail{path: path}
	}
	return tail{path, info.Size()}
}

const readyLimit = 2 * time.Second

// mostTail bounds the end of a log that is read.
const mostTail = 1 << 20

// readText returns the end of the part, "" if it cannot be read.
func (t tail) readText() string {
	file, err := os.Open(t.path)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	from := max(t.since, info.Size()-mostTail)
	if info.Size() < t.since { // another file: the log was rotated
		from = max(0, info.Size()-mostTail)
	}
	text, err := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
	if err != nil {
		return ""
	}
	return string(text)
}

// Reason says why URLs of a site wait: what keeps the daemon from working, such as a full disk, else
// the last failure of a request. It is "" without one.
func (d *Daemon) Reason(ctx context.Context, site string) string {
	if reasons := d.unreadyReasons(ctx); len(reasons) > 0 {
		if i := slices.IndexFunc(reasons, func(r string) bool { return strings.Contains(r, "no space left in ") }); i >= 0 {
			return reasons[i] // all others follow from it
		}
		return strings.Join(reasons, "; ")
	}
	return lastFault(d.crawl.readText(), site)
}

// unreadyReasons asks the daemon for the reasons why it cannot work (docs/operations.md).
func (d *Daemon) unreadyReasons(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.ready, nil)
	if err != nil {
		return nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil // it is only a hint
	}
	defer response.Body.Close()
	var answer struct{ Reasons []string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil
	}
	return answer.Reasons
}

// LastFault returns the error of the last request of a site that failed or was put off, as the end of the log of
// crawler-task has it. It is "" without one.
func (n *Node) LastFault(site string) string {
	return lastFault(tail{path: filepath.Join(n.LogDir(), "crawler-task.log")}.readText(), site)
}

func lastFault(log, site string) (text string) {
	for line := range strings.Lines(log) {
		if !strings.Contains(line, ` msg="fetch failed" `) && !strings.Contains(line, ` msg="put off" `) || !strings.Contains(line, " site="+site+" ") {
			continue
		}
		if _, value, found := strings.Cut(strings.TrimSpace(line), " error="); found {
			text = value
			if quoted, err := strconv.QuotedPrefix(value); err == nil {
				text, _ = strconv.Unquote(quoted) // QuotedPrefix has checked it
			}
		}
	}
	return text
}
