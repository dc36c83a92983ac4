// Package export writes the pages of a site in a format that other programs read.
//
//	format, err := export.Find("jsonl")
//	err = export.Run(ctx, export.Job{Reader: reader, Sites: sites, Format: format, Out: "pages.jsonl"}, nil)
//
// A Format opens a Writer for a file or a folder; package pages reads the pages, one portion at a
// time, so memory does not grow with the site. After each portion the Writer is flushed and the
// position is saved next to the output. A job with the same settings continues there: it cuts off
// what was written after the position, so no page is missing or doubled.
//
// A new format implements Writer and is added to Formats. It says in Needs which contents of a page
// it wants.
package export
