// Package strict finds mistakes in requests that the service accepts: unknown keys and properties,
// filters that do not compile, and root URLs that cannot be crawled. The service ignores them or
// reports them later, as the original does; a person wants to know at once.
//
//	for _, problem := range strict.Check(wire.SiteNew, raw) {
//		fmt.Fprintln(os.Stderr, problem)
//	}
//
// A problem names the field, its value and the nearest known name.
package strict
