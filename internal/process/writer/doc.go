// Package writer writes the chosen lines of a page as Markdown, HTML and plain text. All of them share one walk over the
// lines: it finds the containers, tables, listings and spans around each line and tells them to a sink.
//
//	var w writer.Writer
//	w.Begin(&outline, base, chosen)
//	markdown := w.AppendMarkdown(nil)
//
// Markdown is CommonMark with the tables and the strikethrough of GFM. It parses back to the blocks that were written.
// The cost is linear in the size of the page: nesting is cut at maxDepth.
package writer
