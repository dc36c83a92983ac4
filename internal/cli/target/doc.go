// Package target turns what a person types into what a site needs: addresses become root URLs,
// and a scope with patterns becomes filters.
//
//	u, err := target.Parse("example.org/docs") // no scheme: u.Guessed
//	filters, err := target.Filters([]string{"https://example.org/docs/"}, target.Limits{
//		Scope: target.Host, Include: []string{"/docs/**"}, Exclude: []string{"*.zip"}, Depth: 3,
//	})
//
// A pattern is a glob, or a regular expression after "re:". The user never escapes anything: dots
// and question marks of a glob are plain characters.
//
//	/docs/**            the path and query, from its start; ** is anything, * anything but a slash
//	*.zip               the last part of the path
//	https://*/a/**      the whole URL
//	re:[?&]page=\d+     a regular expression in the Python dialect, anywhere in the URL
//
// A pattern that ends with a slash means everything below. The package does no I/O.
package target
