package segments

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"time"

	"hce/dc/internal/storage/rawfiles"
)

// A run is a sequence of WARC 1.1 records, one for each content of a version. The first
// record is the reference of the others (WARC-Concurrent-To). The fields HCE-* are ours; WARC
// allows fields that a reader does not know.

// run is the contents of one version of a URL.
type run struct {
	site, md5, name string
	uri             string // of the page; "" if unknown
	at              int64  // ms since 1970
	parts           []part // without two of one kind
	encoded         []byte // the bytes of a run that Compact copies, instead of parts
}

type part struct {
	kind rawfiles.Kind
	data []byte
}

func (r *run) kinds() (mask int64) {
	for _, p := range r.parts {
		mask |= 1 << p.kind
	}
	return mask
}

// size is an upper bound of the bytes of the run.
func (r *run) size() int64 {
	n := int64(len(r.encoded))
	for _, p := range r.parts {
		n += int64(len(p.data)) + headRoom
	}
	return n
}

const (
	headRoom  = 4 << 10 // bytes that a record has in addition to its content, at most
	maxURI    = 2 << 10
	version11 = "WARC/1.1\r\n"
	recordEnd = "\r\n\r\n"
)

// castagnoli is the table of the digest of a run.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newID returns a random WARC-Record-ID.
func newID() string {
	a, b := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("<urn:uuid:%08x-%04x-4%03x-%04x-%012x>", a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&(1<<48-1))
}

// appendHead appends the header of a part. id is that of this record, first that of the
// first record of the run, or "".
func (r *run) appendHead(to []byte, p part, id, first string) []byte {
	kind := "metadata"
	if first == "" || p.kind == rawfiles.Tidy || p.kind == rawfiles.Dynamic {
		kind = "resource"
	}
	content := "text/plain"
	switch p.kind {
	case rawfiles.Raw, rawfiles.Tidy, rawfiles.Dynamic, rawfiles.Meta:
		content = "application/octet-stream"
	}
	to = append(to, version11...)
	field := func(name, value string) {
		to = append(append(append(append(to, name...), ": "...), value...), "\r\n"...)
	}
	field("WARC-Type", kind)
	field("WARC-Record-ID", id)
	to = append(to, "WARC-Date: "...)
	to = time.UnixMilli(r.at).UTC().AppendFormat(to, "2006-01-02T15:04:05.000Z")
	to = append(to, "\r\n"...)
	if r.uri != "" && len(r.uri) <= maxURI && printable(r.uri) {
		field("WARC-Target-URI", r.uri)
	} else {
		field("WARC-Target-URI", "urn:md5:"+r.md5)
	}
	if first != "" {
		field("WARC-Concurrent-To", first)
	}
	field("Content-Type", content)
	field("HCE-Site", r.site)
	field("HCE-Key", r.md5)
	field("HCE-Name", r.name)
	to = append(to, "HCE-Kind: "...)
	to = strconv.AppendInt(to, int64(p.kind), 10)
	to = append(to, "\r\nContent-Length: "...)
	to = strconv.AppendInt(to, int64(len(p.data)), 10)
	return append(to, recordEnd...)
}

// printable reports whether a URL is allowed in a header.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// appendInfo appends the record at the start of a segment.
func appendInfo(to []byte, name string, now time.Time) []byte {
	text := "software: HCE Distributed Crawler\r\nformat: WARC file version 1.1\r\n"
	to = fmt.Appendf(to, "%sWARC-Type: warcinfo\r\nWARC-Record-ID: %s\r\nWARC-Date: %s\r\nWARC-Filename: %s\r\n"+
		"Content-Type: application/warc-fields\r\nContent-Length: %d\r\n\r\n", version11, newID(), now.UTC().Format(time.RFC3339), name, len(text))
	return append(append(to, text...), recordEnd...)
}

// head is the header of a record.
type head struct {
	site, md5, name string
	kind            rawfiles.Kind
	first           bool  // begins a run
	info            bool  // warcinfo: no part of a run
	size            int64 // bytes of the header
	length          int64 // bytes of the content
}

// total is the number of bytes of the record.
func (h head) total() int64 { return h.size + h.length + int64(len(recordEnd)) }

var errRecord = errors.New("damaged record")

// parseHead reads the header at the start of data, which may have more. It returns errRecord
// for anything that appendHead and appendInfo do not write.
func parseHead(data []byte) (h head, err error) {
	if len(data) > headRoom {
		data = data[:headRoom]
	}
	end := bytes.Index(data, []byte(recordEnd))
	rest, ok := bytes.CutPrefix(data, []byte(version11))
	if end < 0 || !ok {
		return h, errRecord
	}
	h.size, h.first, h.length, h.kind = int64(end+len(recordEnd)), true, -1, -1
	rest = rest[:end-len(version11)]
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(": "))
		if !ok {
			return h, errRecord
		}
		switch string(name) {
		case "WARC-Type":
			h.info = string(value) == "warcinfo"
		case "WARC-Concurrent-To":
			h.first = false
		case "HCE-Site":
			h.site = string(value)
		case "HCE-Key":
			h.md5 = string(value)
		case "HCE-Name":
			h.name = string(value)
		case "HCE-Kind":
			n, err := strconv.Atoi(string(value))
			if h.kind = rawfiles.Kind(n); err != nil || !h.kind.Valid() {
				return h, errRecord
			}
		case "Content-Length":
			if h.length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return h, errRecord
			}
		}
	}
	if h.length < 0 || !h.info && (h.kind < 0 || h.md5 == "") {
		return h, errRecord
	}
	return h, nil
}

// contentOf returns the content of one kind in a run.
func contentOf(data []byte, kind rawfiles.Kind) ([]byte, error) {
	for len(data) > 0 {
		h, err := parseHead(data)
		if err != nil || h.length > int64(len(data)) || h.total() > int64(len(data)) {
			return nil, errRecord
		}
		if h.kind == kind {
			return data[h.size : h.size+h.length], nil
		}
		data = data[h.total():]
	}
	return nil, errRecord
}
