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

// stream is a queue of its own: the changing or the reading requests of one peer.
type stream struct {
	peer  string
	reads bool
}

func (j *job) stream() stream {
	return stream{string(j.from.Route[0]), wire.Op(j.event.Type).Reads()}
}

// queue holds the waiting requests, one line per stream. The streams take turns.
type queue struct {
	lines []line // the next turn first; no line is empty
	size  int
	bytes int // of the requests' objects
}

type line struct {
	stream stream
	jobs   []*job
}

func (q *queue) len() int { return q.size }

func (q *queue) add(j *job) {
	q.size++
	q.bytes += len(j.event.Object)
	for i := range q.lines {
		if q.lines[i].stream == j.stream() {
			q.lines[i].jobs = append(q.lines[i].jobs, j)
			return
		}
	}
	q.lines = append(q.lines, line{j.stream(), []*job{j}})
}

// take removes the oldest request of the next stream for which may returns true. That stream
// becomes the last one.
func (q *queue) take(may func(stream) bool) (*job, bool) {
	for i, l := range q.lines {
		if !may(l.stream) {
			continue
		}
		j := l.jobs[0]
		l.jobs[0] = nil
		l.jobs = l.jobs[1:]
		q.lines = slices.Delete(q.lines, i, i+1)
		if len(l.jobs) > 0 {
			q.lines = append(q.lines, l)
		}
		q.size--
		q.bytes -= len(j.event.Object)
		return j, true
	}
	return nil, false
}

// expire removes and returns the requests whose deadline is not after now.
func (q *queue) expire(now time.Time) []*job {
	return q.remove(func(j *job) bool { return !now.Before(j.deadline) })
}

// all removes and returns every request.
func (q *queue) all() []*job { return q.remove(func(*job) bool { return true }) }

func (q *queue) remove(out func(*job) bool) []*job {
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
