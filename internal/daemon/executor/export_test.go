package executor

// Sweep does at once what is due, because the pool's own clock does not see a jump of Now.
func (l *Local) Sweep() { l.processDueJobs(l.cfg.Now()) }
