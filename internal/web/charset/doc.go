// Package charset decodes the bytes of a body to UTF-8 text.
//
// The sources follow the order of the HTML standard (13.2.3, encoding sniffing): byte
// order mark, HTTP header, meta element in the first megabyte or XML declaration, a
// statistical guess, windows-1252. Two rules from real crawls change that order: bytes that
// are clearly UTF-8 are read as UTF-8 whatever a label says, and a UTF-8 label is ignored
// if the bytes are clearly not UTF-8. Source: docs/spec/crawling.md 4.13.
//
//	text, name, err := charset.Decode(body, "text/html; charset=win-1251")
//	// name == "windows-1251"; an error is a warning, text is usable
package charset
