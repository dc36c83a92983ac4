// Package cookies keeps the cookie jar of each site across batches, and reads the
// property HTTP_COOKIE.
//
// A jar belongs to a site and may hold cookies of many hosts. It follows RFC
// 6265bis as far as a crawler can: domain and path match, the public suffix list,
// Secure, the name prefixes and the limits of number and size. SameSite and
// HttpOnly mean nothing without scripts and are not kept.
//
//	jars := cookies.Open(dir, cookies.Options{})
//	jar := jars.Site(site.ID)
//	request.Cookie = jar.Header(property, u, cookies.Page, now)
//	jar.SetCookies(u, response.Header, now)
//	err := jars.Save(ctx) // every few seconds, and at the end of the batch
//
// Jars live in memory between two calls of Save, which merges what changed into
// `<dir>/<site>.json`: of two processes that set one cookie, the later has it.
//
// The jar of net/http cannot tell its cookies, and its parser drops values with
// quotes or letters beyond ASCII, which browsers keep; so both are here.
//
// Neighbours: crawl asks before each request and tells of each response; fetch
// carries cookies along one redirect chain; statefile writes the files.
// Sources: docs/spec/crawling.md 4.6, 7.1 #8 and 7.3 F17, docs/spec/DECISIONS.md 6.4, RFC 6265bis.
package cookies
