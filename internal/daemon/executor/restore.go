package executor

import (
	"cmp"
	"slices"
)

// restoreJobs creates jobs from the spool, before l is shared.
func (l *Local) restoreJobs() error {
	all, err := l.spool.loadTasks()
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
		st.ID, st.Type = s.id, s.task.Type
		l.jobs[s.id] = j
		changed := true
		switch {
		case s.err != nil:
			l.log.Error("cannot read a task in the spool", "op", "executor.OpenLocal", "task", s.id, "error", s.err)
			st.State, st.Reason, st.Ended = Lost, "cannot read the spool: "+s.err.Error(), l.cfg.Now()
			// A broken state is replaced. A broken task.json stays for inspection; the job has
			// no type, so no manager collects it.
			changed = len(s.task.Stages) > 0
		case st.State == Running:
			st.State, st.Reason, st.Ended = Lost, "the executor ended while the task ran", l.cfg.Now()
		case !st.State.Over() && slices.Contains(l.cfg.Abandon, st.Type):
			st.State, st.Reason, st.Ended = Lost, "the executor ended before the task ran", l.cfg.Now()
		default:
			changed = false
		}
		if changed {
			if err := l.spool.saveStatus(&st); err != nil && s.err == nil { // the next start decides the same
				l.log.Error("cannot store the state of a restored task", "op", "executor.OpenLocal", "task", s.id, "error", err)
			}
		}
		l.queued++ // as Submit does before the first publish
		l.publishStatus(j, st)
		if !st.State.Over() {
			l.enqueueJob(j)
		}
	}
	return nil
}
