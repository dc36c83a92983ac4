// Package warc writes and reads records of WARC 1.1 (ISO 28500, https://iipc.github.io/warc-specifications/).
// It is the only package that knows the format; package segments stores raw contents with its
// functions AppendStart, AppendField, AppendEnd and ParseHead.
//
//	w := warc.NewWriter(file, warc.Options{Gzip: true})
//	record := warc.Record{Type: warc.Response, Date: at, TargetURI: url, ContentType: warc.ResponseType, Head: head, Payload: body}
//	place, err := w.Write(&record) // place.Offset, place.Length, record.ID, record.PayloadDigest
//
//	r, err := warc.NewReader(file)
//	for {
//		found, err := r.Next() // io.EOF, or a *Fault with the offset of the record
//		body, err := io.ReadAll(found.Body)
//	}
//
// A Writer and a Reader hold one record header and fixed buffers, whatever the size of a file.
package warc
