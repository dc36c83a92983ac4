package executor

import (
	"cmp"
	"fmt"
	"slices"
)

// restore makes jobs of what the spool holds. Nothing else knows l yet.
func (l *Local) restore() error {
	all, err := l.spool.load()
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b saved) int {
		return cmp.Or(a.status.Queued.Compare(b.status.Queued), cmp.Compare(a.id, b.id))
	})
	for _, s := range all {
		j := &job{task: s.task, age: l.nextAge(), saved: make(chan struct{}), over: make(chan struct{})}
		close(j.saved)
		st := s.status
		st.ID, st.Name, st.Type, st.Labels = s.id, s.task.Name, s.task.Type, s.task.Labels
		l.jobs[s.id] = j
		changed := true
		switch {
		case s.err != nil:
			l.log.Error("a task in the spool cannot be read", "op", "env.OpenLocal", "task", s.id, "error", s.err)
			st.State, st.Reason, st.Ended = Lost, "the spool cannot be read: "+s.err.Error(), l.cfg.Now()
			// A state can be written anew. A task that nobody can read stays as
			// it is, for people: it has no type, so that no manager asks for it.
			changed = len(s.task.Stages) > 0
		case st.State == Running && st.Attempt < s.task.Attempts:
			st.State, st.Reason = Waiting, fmt.Sprintf("attempt %d of %d was lost when the environment ended", st.Attempt, s.task.Attempts)
		case st.State == Running:
			st.State, st.Reason, st.Ended = Lost, "the environment ended while the task ran", l.cfg.Now()
		default:
			changed = false
		}
		if changed {
			if err := l.spool.saveStatus(&st); err != nil && s.err == nil { // the next start comes to the same end
				l.log.Error("cannot store what became of a task", "op", "env.OpenLocal", "task", s.id, "error", err)
			}
		}
		l.queued++ // as Submit does before the first publish
		l.publish(j, st)
		switch st.State {
		case Queued:
			j.since = st.Queued // its time to live goes on
			l.enqueue(j)
		case Waiting:
			j.parked = l.cfg.Now().Add(j.task.RetryDelay)
		}
	}
	return nil
}
