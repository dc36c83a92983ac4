package segments

import (
	"errors"
	"hash/crc32"
	"strconv"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/warc"
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

func (r *run) kindMask() (mask int64) {
	for _, p := range r.parts {
		mask |= 1 << p.kind
	}
	return mask
}

// maxSize is an upper bound of the bytes of the run.
func (r *run) maxSize() int64 {
	n := int64(len(r.encoded))
	for _, p := range r.parts {
		n += int64(len(p.data)) + headRoom
	}
	return n
}

const (
	headRoom = 4 << 10 // bytes that a record has in addition to its content, at most
	maxURI   = 2 << 10
)

// castagnoli is the table of the digest of a run.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendHead appends the header of a part. id is that of this record, first that of the
// first record of the run, or "".
func (r *run) appendHead(to []byte, p part, id, first string) []byte {
	kind := warc.Metadata
	if first == "" || p.kind == rawfiles.Tidy || p.kind == rawfiles.Dynamic {
		kind = warc.Resource
	}
	content := "text/plain"
	switch p.kind {
	case rawfiles.Raw, rawfiles.Tidy, rawfiles.Dynamic, rawfiles.Meta:
		content = "application/octet-stream"
	}
	to = warc.AppendStart(to, kind, id, time.UnixMilli(r.at))
	if r.uri != "" && len(r.uri) <= maxURI && warc.Printable(r.uri) {
		to = warc.AppendField(to, warc.FieldTarget, r.uri)
	} else {
		to = warc.AppendField(to, warc.FieldTarget, "urn:md5:"+r.md5)
	}
	if first != "" {
		to = warc.AppendField(to, warc.FieldConcurrent, first)
	}
	to = warc.AppendField(to, warc.FieldContentType, content)
	to = warc.AppendField(to, fieldSite, r.site)
	to = warc.AppendField(to, fieldKey, r.md5)
	to = warc.AppendField(to, fieldName, r.name)
	to = append(to, fieldKind+": "...)
	to = append(strconv.AppendInt(to, int64(p.kind), 10), "\r\n"...)
	return warc.AppendEnd(to, int64(len(p.data)))
}

// Fields of our own.
const (
	fieldSite = "HCE-Site"
	fieldKey  = "HCE-Key"
	fieldName = "HCE-Name"
	fieldKind = "HCE-Kind"
)

// appendInfo appends the record at the start of a segment.
func appendInfo(to []byte, name string, now time.Time) []byte {
	const text = "software: HCE Distributed Crawler\r\nformat: WARC file version 1.1\r\n"
	to = warc.AppendStart(to, warc.Info, warc.NewID(), now)
	to = warc.AppendField(to, "WARC-Filename", name)
	to = warc.AppendField(to, warc.FieldContentType, warc.FieldsType)
	to = warc.AppendEnd(to, int64(len(text)))
	return append(append(to, text...), warc.RecordEnd...)
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

// totalSize is the number of bytes of the record.
func (h head) totalSize() int64 { return h.size + h.length + int64(len(warc.RecordEnd)) }

var errRecord = errors.New("damaged record")

// parseHead reads the header at the start of data, which may have more. It returns errRecord
// for anything that appendHead and appendInfo do not write.
func parseHead(data []byte) (h head, err error) {
	if len(data) > headRoom {
		data = data[:headRoom]
	}
	h.first, h.length, h.kind = true, -1, -1
	size, err := warc.ParseHead(data, func(name, value []byte) (err error) {
		switch string(name) {
		case warc.FieldType:
			h.info = string(value) == string(warc.Info)
		case warc.FieldConcurrent:
			h.first = false
		case fieldSite:
			h.site = string(value)
		case fieldKey:
			h.md5 = string(value)
		case fieldName:
			h.name = string(value)
		case fieldKind:
			var n int
			n, err = strconv.Atoi(string(value))
			if h.kind = rawfiles.Kind(n); err == nil && !h.kind.Valid() {
				err = errRecord
			}
		case warc.FieldLength:
			h.length, err = strconv.ParseInt(string(value), 10, 64)
		}
		return err
	})
	if err != nil {
		return h, errRecord
	}
	h.size = int64(size)
	if h.length < 0 || !h.info && (h.kind < 0 || h.md5 == "") {
		return h, errRecord
	}
	return h, nil
}

// contentOf returns the content of one kind in a run.
func contentOf(data []byte, kind rawfiles.Kind) ([]byte, error) {
	for len(data) > 0 {
		h, err := parseHead(data)
		if err != nil || h.length > int64(len(data)) || h.totalSize() > int64(len(data)) {
			return nil, errRecord
		}
		if h.kind == kind {
			return data[h.size : h.size+h.length], nil
		}
		data = data[h.totalSize():]
	}
	return nil, errRecord
}
