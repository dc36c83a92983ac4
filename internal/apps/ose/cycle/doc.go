// Package cycle runs the three steps of the file cycle in the folder of a target.
//
//	c := &cycle.Cycle{Web: client, Wait: cycle.Wait{Least: 10 * time.Second, Most: 30 * time.Second}, Now: time.Now, Log: log}
//	reports, err := c.Run(ctx, f) // OSEM001, OSEM002, OSEM003; or what is left of them
//
// OSEM001 requests each URL of .urls that has no id, and stores what the server returned (states 0, 1,
// 2). OSEM002 writes the links of each page that was not parsed (2, 3, 4). OSEM003 adds the links of
// the target's host that .urls does not have (4, 0).
//
// # What is the truth, and what a kill leaves
//
// The state in .osestatus and the list .urls are the truth. A step never changes .urls: it writes the
// next list to .urls2 (.urls3, .urls4) and renames it at its end, before it writes the next state. A
// process that holds no lock runs no step, so a state 1, 3 or 4 without a lock means that its process
// ended within the step, and the next run continues it:
//
//   - OSEM001 writes 0000000001, then .meta.0000000001: from then on the request is done. Records go to
//     .urls2 at a checkpoint only, behind their files, and the last id to .osestatus behind them. A
//     checkpoint is after 64 pages, 16 MiB or five seconds; so with the usual waits it is after each
//     page. The next run reads .urls2 up to its last whole record, goes on with the next URL of .urls,
//     and takes the next ids whose .meta has this URL and fits its page, without a request. So one URL
//     at most is requested twice, the one in flight; also if .urls2 is lost. A crash of the machine
//     may cost the pages since the last checkpoint.
//   - An id is used once. A number whose .meta exists but is not of the URL is skipped, and its files
//     stay. Numbers above all known ids without a .meta are free: only their body was written.
//   - OSEM002 gives the same files each time. It continues behind the last whole record of .urls3, which
//     has records only when their .links files are durable.
//   - OSEM003 writes .urls4 again from its start. .osemerged has the last id whose links are merged; it is
//     written before the state, so that a repeated merge finds nothing new.
//
// A step that begins finds no next list. If another program left one, the step refuses to begin.
//
// # Memory
//
// OSEM001 and OSEM002 hold one record and one page. OSEM003 holds the 16-byte key of each URL, about
// 50 MB for a million URLs, and the new URLs of one page.
package cycle
