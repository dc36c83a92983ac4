// Package wacz writes a WACZ 1.1.1 file: a zip file with a WARC file, an index of its records and a
// list of its pages, which a browser can show without reading all of it.
//
//	w, err := wacz.New(out, scratch, time.Now())
//	place, err := warc.NewWriter(w, ...).Write(...) // a Writer takes the bytes of the WARC file
//	err = w.Capture(wacz.Capture{URL: url, At: at, Offset: place.Offset, Length: place.Length})
//	err = w.Page(wacz.Page{URL: url, At: at, Title: title})
//	err = w.Close()
//	err = os.RemoveAll(scratch)
//
// Memory does not depend on the number of pages: the lines of the index are sorted in files of the
// scratch folder. The output is written from its start to its end.
// Source: https://specs.webrecorder.net/wacz/1.1.1/
package wacz
