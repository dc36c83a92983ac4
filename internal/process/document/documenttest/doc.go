// Package documenttest makes documents for tests: PDF and DOCX files, honest and hostile ones.
//
//	body := documenttest.PDF("Tides", "The moon pulls the sea.")
//	for name, body := range documenttest.Hostile() { ... }
package documenttest
