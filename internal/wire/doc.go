// Package wire is the protocol of the crawler cluster: its objects, operations and
// error codes, their JSON, and the readers that check requests.
//
//	req, err := wire.ReadSiteNew(raw, nil) // lenient: accepts old spellings, numbers as text
//	if err == nil {
//		err = req.Check() // strict: refuses invalid ids and keys
//	}
//
// The objects:
//
//   - [Event] is one message: class, type, object and cookie. Managers exchange events.
//   - [Op] is an operation of a client, such as SITE_NEW. Each operation has a request
//     type, such as [SiteNewRequest], and a function that reads it from JSON.
//   - [Site] is a web site with its limits, filters and properties. It has root URLs.
//   - [URL] is one URL of a site. Its Status goes from discovered to processed.
//   - [Batch] is the unit of work of crawler-task and processor-task: up to a few
//     hundred URLs, each a [BatchItem] with the settings that apply to it.
//   - [Fetched] and [Extracted] are the outcomes of crawling and of processing one URL.
//   - [Content] is one stored content of a URL: raw page, headers, processed text.
//   - [ClientResponse] answers a client, with one [ClientResponseItem] for each node.
//     [GeneralResponse] is the object of operations that only change data.
//   - errormask.Mask is the set of errors of a URL or a site.
//
// The struct tags of Site, URL and their rows list the database columns: json is the
// name on the wire, col the name in SQL, and fit the range of values (package schema).
//
// The package maps the names and numbers of the specification; no other package does.
// It uses the standard library only. It does no input or output, reads no clock and
// starts no goroutine. Source: docs/spec/objects.md 0 to 6, docs/spec/DECISIONS.md 1.
package wire
