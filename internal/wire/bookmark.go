package wire

// Bookmark tells how far the rows of a table were copied, in the order of a key.
type Bookmark struct {
	Key  string // of the last row
	Rows int64  // how many rows of that key
	Done bool   // there were no more
}
