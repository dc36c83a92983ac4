package wire

// Bookmark is the position of a copy of table rows that are ordered by a key.
type Bookmark struct {
	Key  string // of the last copied row; "": no row is copied
	Rows int64  // number of copied rows with Key
	Done bool   // all rows are copied
}
