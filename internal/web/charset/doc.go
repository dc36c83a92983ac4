// Package charset turns the bytes of a body into UTF-8 text.
//
// It follows the order of the HTML standard (13.2.3, encoding sniffing): byte
// order mark, transport header, meta element or XML declaration within the
// first 4096 bytes, a statistical guess, and at last windows-1252. Two findings
// of real crawls bend that order: bytes that can only be UTF-8 are taken as
// UTF-8 whatever a label says, and a UTF-8 label on bytes that are plainly not
// UTF-8 is passed over. Source: docs/spec/crawling.md 4.13.
//
//	text, name, err := charset.Decode(body, "text/html; charset=win-1251")
//	// name == "windows-1251"; err tells of damage, text is usable all the same
//
// Neighbours: package links and package article read the text that it makes.
package charset
