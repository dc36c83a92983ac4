// Package wire holds the words of the crawler cluster: the objects that travel
// (Site, URL, Batch, Content), the operations on them, their states, codes and
// error bits, the envelope of messages, and the readers that turn requests from
// outside into checked values.
//
// Wire names and numbers are the specification's and are mapped here and
// nowhere else. The struct tags of Site, URL and their rows are the catalogue
// of database columns: json is the name on the wire, col the name in SQL, fit what
// the column holds on every database.
//
// A request says which columns it sets and leaves the others alone; it is read
// into a [Patch], a map from column to value. A stored row has all columns; it
// is a struct.
//
//	req, err := wire.ReadSiteNew(raw, nil) // lenient: old samples, numbers as text
//	if err == nil {
//		err = req.Check()            // strict: ids and keys
//	}
//
// The package is at the bottom of the house: standard library only, no input or
// output, no clock, no goroutine.
package wire
