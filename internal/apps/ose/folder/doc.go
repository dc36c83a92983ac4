// Package folder reads and writes the target folders of the file cycle: one folder for each
// target, with a record of its state, the list of its URLs, and numbered files.
//
//	f, err := folder.Create(dir, []string{"https://example.org/"})
//	status, err := f.Status() // {State: Idle, LastID: 0}
//	urls, err := f.URLs()
//	for record, err := range urls.All() { ... }
//
// The files of a folder, byte for byte (docs/ose.md has the tables):
//
//	.osestatus             12 characters: state, blank, last URL id
//	.urls                  a record for each URL, none twice: id, code, time of request, time of
//	                       parsing, URL; ended by a line feed
//	.urls2 .urls3 .urls4   the next .urls, while a step runs
//	0000000001             what the server returned: head and body
//	.meta.0000000001       what is known of that request: lines "key: value"
//	.links.0000000001      the links of the page: canonical URLs, one on a line
//	.links.malformed.…1    its links that cannot be fetched, as written
//	.osemerged             the last id whose links are in .urls
//	.oselock               the lock of the running step, with its process id
//	.oselog                the run times of the steps
//
// Readers are strict and bounded: a file that is not exactly of its form gives a *Fault with file,
// line and column, and stays as it is. Nothing follows a symbolic link: a name that is not a
// regular file is refused.
package folder
