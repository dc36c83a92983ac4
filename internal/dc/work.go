package dc

import "time"

// Mark is what the data owner says of one row that a task takes into work.
type Mark struct {
	Row   URL  // the row as it was before, or the item itself when there was none
	Known bool // the row was there before
	Done  bool // this very batch has finished it: leave it alone
	Busy  bool // another batch holds it: what this one brings would be dropped
}

// Fetched is the outcome of crawling one URL, handed to the data owner.
type Fetched struct {
	URLMd5   string
	Set      Patch // columns of the URL's row
	Crawled  bool  // Crawled + 1, whatever Set says
	NewURLs  []URL // rows to insert unless they are known
	SiteBits ErrorMask
	Same     bool      // the body is the one stored last: no new version is needed
	At       time.Time // the moment in the names of Files
	Files    []File
}

// File is one raw content to keep (DECISIONS 5.2).
type File struct {
	Type int // ContentRaw, ContentHeaders, ...
	Data []byte
}

// Extracted is the outcome of processing one URL, handed to the data owner.
type Extracted struct {
	URLMd5    string
	Set       Patch
	Processed bool   // Processed + 1, whatever Set says
	Content   []byte // JSON for the key-value store; nil stores nothing
}
