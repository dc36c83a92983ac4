// Package reader turns the answer for an item into its outcome: row, files and links.
//
//	out := r.ReadOutcome(ctx, reader.Page{Item: it, Answer: answer})
//
// A page is read whole, or its item is handed back. Links become rows by the rules of docs/spec/crawling.md 5.3. The
// reader stores nothing; it asks the repository what it knows (Data), and sends requests only for links whose site
// wants to know where they lead.
package reader
