// Package repository is an archive.Store in a folder:
//
//	archive.db                       versions of all pages; see package catalog
//	content/example.org/.git         all versions of a domain, a bare git repository
//	content/example.org/a/b.html/    the newest version of https://example.org/a/b.html:
//	    data.html                    bytes as received
//	    data.xml                     metadata, and the nodes that clients have added
//	    words.txt                    a file that a client has added
//	schema/page.xsd                  XML schema of all data.xml
//	locks/, tmp/                     lock files, and what is not stored yet
//
// A crawl stages its pages and commits them at once:
//
//	r, err := repository.Open(dir)
//	crawl, err := r.Begin(ctx, "example.org", time.Now())
//	err = crawl.Add(repository.Page{URL: "https://example.org/a/b.html", MIMEType: "text/html", Content: body})
//	commit, err := crawl.Commit(ctx, nil)
//
// # One order for every write
//
// Git is the truth: what is in the branch of a domain is stored, and everything else can be derived
// from it. A write holds the lock of the domain and goes
//
//  1. git: one commit, its objects synced before the branch moves; then the tag of the version,
//  2. database: the rows of the commit, for a crawl,
//  3. files: content/<domain> shows the branch,
//  4. mark: .git/archive-complete names the commit for which 2 and 3 are done.
//
// A kill before the branch moves leaves the archive as it was. After a later kill the mark differs
// from the branch, and the next holder of the lock repairs 2 to 4 first. So readers and writers only
// see a domain that is whole.
//
// Commits of all domains have one sequence of numbers. The lock commit.lock is held from 1 to 2, and
// commit.json names the commit that has the number: the next holder stores its rows first if they are
// missing. So the numbers in the database have no gap that is filled later, and a client that asks for
// numbers above the last one misses none.
//
// # Locks
//
// Each read takes the lock of the domain, shared, opens its file, and frees the lock: an open file keeps
// its bytes, because files are only replaced. Each write holds the lock alone. A writer that waits
// holds back new readers. Files and nodes that clients add at the same time share one commit of git.
//
// # Names
//
// See [Names].
package repository
