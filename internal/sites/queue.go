package sites

import (
	"time"

	"hce/dc/internal/dc"
	"hce/dc/internal/manager"
)

// job is one request under way.
type job struct {
	from     manager.Peer
	event    dc.Event
	deadline time.Time
	answered bool
}

// peer tells the askers apart: one manager is one connection.
func (j *job) peer() string { return string(j.from.Route[0]) }

// queue holds the requests that wait, one line per peer; the peers take turns.
type queue struct {
	lines []line // the next peer's turn first; none is empty
	size  int
	bytes int // of the requests' objects
}

type line struct {
	peer string
	jobs []*job
}

func (q *queue) len() int { return q.size }

func (q *queue) add(j *job) {
	q.size++
	q.bytes += len(j.event.Object)
	for i := range q.lines {
		if q.lines[i].peer == j.peer() {
			q.lines[i].jobs = append(q.lines[i].jobs, j)
			return
		}
	}
	q.lines = append(q.lines, line{j.peer(), []*job{j}})
}

// take removes the oldest request of the next peer that may run one. That peer
// then goes to the end of the turns.
func (q *queue) take(may func(peer string) bool) (*job, bool) {
	for i, l := range q.lines {
		if !may(l.peer) {
			continue
		}
		j := l.jobs[0]
		l.jobs[0] = nil
		l.jobs = l.jobs[1:]
		q.lines = append(q.lines[:i], q.lines[i+1:]...)
		if len(l.jobs) > 0 {
			q.lines = append(q.lines, l)
		}
		q.size--
		q.bytes -= len(j.event.Object)
		return j, true
	}
	return nil, false
}

// expire removes the requests whose deadline is not after now.
func (q *queue) expire(now time.Time) []*job {
	return q.remove(func(j *job) bool { return !now.Before(j.deadline) })
}

// all removes every request.
func (q *queue) all() []*job { return q.remove(func(*job) bool { return true }) }

func (q *queue) remove(out func(*job) bool) []*job {
	var removed []*job
	lines := q.lines[:0]
	for _, l := range q.lines {
		var stay []*job
		for _, j := range l.jobs {
			if out(j) {
				removed = append(removed, j)
				q.bytes -= len(j.event.Object)
			} else {
				stay = append(stay, j)
			}
		}
		if len(stay) > 0 {
			lines = append(lines, line{l.peer, stay})
		}
	}
	clear(q.lines[len(lines):])
	q.lines = lines
	q.size -= len(removed)
	return removed
}
