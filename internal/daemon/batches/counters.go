package batches

// declareCounters declares the statistics of crawling (docs/spec/daemon.md 4.4).
func (c *Crawl) declareCounters() {
	c.Counter("batches_crawl_total", &c.total)
	c.Counter("batches_crawl_filled", &c.filled)
	c.Counter("batches_crawl_urls", &c.items)
	c.Counter("batches_crawl_url_fetch", &c.fetches)
	c.Counter("batches_crawl_url_fetch_cancelled", &c.cancelled)
	c.Counter("batches_crawl_url_fetch_incr", &c.incremental)
	c.Counter("batches_crawl_urls_ret", &c.stuckURLs)
	c.Counter("batches_crawl_fetcher_dynamic", &c.dynamic)
	c.Counter("batches_crawl_fetcher_static", &c.static)
	c.Counter("batches_crawl_fetcher_mixed", &c.mixed)
	c.Counter("batches_crawl_fault", &c.faults)
	c.Counter("batches_crawl_urls_fault", &c.urlsFault)
	c.Counter("batches_crawl_fault_ttl", &c.expired)
	c.Counter("batches_crawl_delete_fault", &c.deleteFaults)
	c.Counter("batches_crawl_check_fault", &c.checkFaults)
	c.declarePauses("batches_crawl")
	c.Quiet(SitesSocket, "batches_crawl_total", "batches_crawl_url_fetch") // a look that finds nothing changes them
	c.Tally("batches_crawl_tally", &c.tally)
	c.Gauge("batches_crawl_queue", func() any { return len(c.batches) })
	c.Gauge("batches_crawl_url_fetch_requests", func() any { return len(c.open) })
	c.Gauge("batches_crawl_items_avg", func() any {
		if c.filled == 0 {
			return 0
		}
		return c.items / c.filled
	})
}

// declarePauses declares the statistics of the pauses after faults.
func (q *queue) declarePauses(prefix string) {
	q.Counter(prefix+"_pauses", &q.rested)
	q.Gauge(prefix+"_pause", func() any { return q.fault })
	q.Gauge(prefix+"_halved", func() any {
		n := 0
		for _, b := range q.batches {
			if b.suspects != nil {
				n++
			}
		}
		return n
	})
}

// declareCounters declares the statistics of aging or purging; prefix is age or purge. A task that
// the executor refuses counts as a fault and as an error.
func (s *sweep) declareCounters(prefix string) {
	s.Gauge(prefix+"_batches", func() any { return len(s.batches) })
	s.Counter(prefix+"_batches_total", &s.total)
	s.Quiet(prefix + "_batches_total")
	s.Counter(prefix+"_batches_canceled", &s.cancelled)
	s.Counter(prefix+"_batches_error", &s.unsubmitted)
	s.Counter(prefix+"_batches_fault", &s.faults)
	s.Counter(prefix+"_batches_check_fault", &s.checkFaults)
	s.Counter(prefix+"_batches_delete_fault", &s.deleteFaults)
}

// declareCounters declares the statistics of processing.
func (p *Process) declareCounters() {
	p.Counter("batches_process_total", &p.total)
	p.Counter("batches_process_cancelled", &p.cancelled)
	p.Counter("batches_process_filled", &p.filled)
	p.Counter("batches_process_urls", &p.items)
	p.Counter("batches_process_fault", &p.faults)
	p.Counter("batches_process_urls_fault", &p.urlsFault)
	p.Counter("batches_process_fault_ttl", &p.expired)
	p.Counter("batches_process_delete_fault", &p.deleteFaults)
	p.Counter("batches_process_check_fault", &p.checkFaults)
	p.declarePauses("batches_process")
	p.Quiet(SitesSocket) // looks
	p.Tally("batches_process_tally", &p.tally)
	p.Gauge("batches_process_queue", func() any { return len(p.batches) })
}
