package sites

import (
	"slices"
	"time"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// job is one active request.
type job struct {
	from     manager.Peer
	event    wire.Event
	deadline time.Time
}

// stream is a queue of its own: the changing or the reading requests of one manager, or of one
// client of the gateway.
type stream struct {
	peer   string // the manager
	client string // of the gateway, else ""
	reads  bool
}

func (j *job) streamKey() stream {
	s := stream{peer: string(j.from.Route[0]), reads: wire.Op(j.event.Type).Reads()}
	if len(j.from.Route) > 1 {
		s.client = string(j.from.Route[1])
	}
	return s
}

// queue holds the waiting requests, one line per stream. The managers take turns, and the
// streams of each.
type queue struct {
	lines []line // the next turn of a manager first; no line is empty
	turn  int
	last  map[string]int // by manager: its last turn
	size  int
	bytes int // of the requests' objects
}

type line struct {
	stream stream
	jobs   []*job
}

func (q *queue) len() int { return q.size }

func (q *queue) addJob(j *job) {
	q.size++
	q.bytes += len(j.event.Object)
	for i := range q.lines {
		if q.lines[i].stream == j.streamKey() {
			q.lines[i].jobs = append(q.lines[i].jobs, j)
			return
		}
	}
	q.lines = append(q.lines, line{j.streamKey(), []*job{j}})
}

// takeNext removes the oldest request of the next stream for which may returns true. That stream
// and its manager become the last ones.
func (q *queue) takeNext(may func(stream) bool) (*job, bool) {
	next := -1
	for i, l := range q.lines {
		if (next < 0 || q.last[l.stream.peer] < q.last[q.lines[next].stream.peer]) && may(l.stream) {
			next = i
		}
	}
	if next < 0 {
		return nil, false
	}
	l := q.lines[next]
	if q.last == nil || len(q.lines) == 1 { // no other line waits
		q.last = map[string]int{}
	}
	q.turn++
	q.last[l.stream.peer] = q.turn
	j := l.jobs[0]
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	q.lines = slices.Delete(q.lines, next, next+1)
	if len(l.jobs) > 0 {
		q.lines = append(q.lines, l)
	}
	q.size--
	q.bytes -= len(j.event.Object)
	return j, true
}

// takeExpired removes and returns the requests whose deadline is not after now.
func (q *queue) takeExpired(now time.Time) []*job {
	return q.removeJobs(func(j *job) bool { return !now.Before(j.deadline) })
}

// takeAll removes and returns every request.
func (q *queue) takeAll() []*job { return q.removeJobs(func(*job) bool { return true }) }

func (q *queue) removeJobs(out func(*job) bool) []*job {
	var removed []*job
	for i := range q.lines {
		q.lines[i].jobs = slices.DeleteFunc(q.lines[i].jobs, func(j *job) bool {
			if !out(j) {
				return false
			}
			removed = append(removed, j)
			q.bytes -= len(j.event.Object)
			return true
		})
	}
	q.lines = slices.DeleteFunc(q.lines, func(l line) bool { return len(l.jobs) == 0 })
	q.size -= len(removed)
	return removed
}
