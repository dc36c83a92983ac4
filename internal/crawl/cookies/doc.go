// Package cookies keeps the cookie jar of each site across batches, and parses the property
// HTTP_COOKIE.
//
// A jar belongs to a site and may hold cookies of many hosts. It follows RFC 6265bis:
// domain and path match, the public suffix list, Secure, the name prefixes, and the limits
// of number and size. It drops SameSite and HttpOnly, which have no meaning without
// scripts.
//
//	jars := cookies.Open(dir, cookies.Options{})
//	jar := jars.Site(site.ID)
//	request.Cookie = jar.Header(property, u, cookies.Page, now)
//	jar.SetCookies(u, response.Header, now)
//	err := jars.Save(ctx) // every few seconds, and at the end of the batch
//
// All and Take move the cookies of hosts that another machine takes over.
//
// Jars are in memory between two calls of Save, which merges changes into
// `<dir>/<site>.json`. If two processes set the same cookie, the later one wins.
//
// The jar of net/http cannot list its cookies, and its parser drops values with quotes or
// non-ASCII letters, which browsers keep. So this package has its own jar and parser.
// Sources: docs/spec/crawling.md 4.6, 7.1 #8 and 7.3 F17, docs/spec/DECISIONS.md 6.4, RFC
// 6265bis.
package cookies
