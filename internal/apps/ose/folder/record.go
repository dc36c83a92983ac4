package folder

import (
	"fmt"
	"math"
	"strings"
	"time"

	"hce/dc/canonical"
)

// Record is a record of .urls.
type Record struct {
	ID       ID    // 0: the URL was not checked yet; then only URL is set
	Code     int   // HTTP code, 0 to 999; 0: no answer
	Streamed Stamp // of the request
	Parsed   Stamp // of the parsing; 0: not yet
	URL      string
}

// Stamp is a time in nanoseconds since 1970 UTC, which has 19 digits from 2001 to 2262; 0 for none.
type Stamp int64

// StampOf returns the stamp of a time.
func StampOf(at time.Time) Stamp { return Stamp(at.UnixNano()) }

// Time returns the time in UTC.
func (s Stamp) Time() time.Time { return time.Unix(0, int64(s)).UTC() }

// The fields of a record: where they begin and how long they are.
const (
	idAt, idSize          = 0, 10
	codeAt, codeSize      = 11, 3
	streamedAt, stampSize = 15, 19
	parsedAt              = 35
	urlAt                 = 55
	maxURL                = canonical.MaxLength
	blankStamp, blankID   = "                   ", "          "
	blankCode             = "   "
)

// MaxRecord is the most bytes of a record with its line feed.
const MaxRecord = urlAt + maxURL + 1

// Append appends the record with its line feed.
func (r Record) Append(to []byte) []byte {
	if r.ID == 0 {
		to = append(to, blankID+" "+blankCode+" "+blankStamp+" "+blankStamp+" "...)
	} else {
		to = fmt.Appendf(to, "%010d %03d %019d ", uint64(r.ID), r.Code, int64(r.Streamed))
		if r.Parsed == 0 {
			to = append(to, blankStamp+" "...)
		} else {
			to = fmt.Appendf(to, "%019d ", int64(r.Parsed))
		}
	}
	return append(append(to, r.URL...), '\n')
}

// ParseRecord reads a record without its line feed.
func ParseRecord(line string) (r Record, err error) {
	if len(line) <= urlAt {
		return r, columnErrorf(len(line)+1, "the record ends before its URL, which begins at column %d", urlAt+1)
	}
	for _, filler := range []int{codeAt - 1, streamedAt - 1, parsedAt - 1, urlAt - 1} {
		if line[filler] != ' ' {
			return r, columnErrorf(filler+1, "filler %q instead of a blank", line[filler])
		}
	}
	r.URL = line[urlAt:]
	if err := checkURL(r.URL); err != nil {
		return r, columnErrorf(urlAt+1, "%w", err)
	}
	if strings.Trim(line[:urlAt], " ") == "" {
		return r, nil
	}
	id, err := parseField(line, "URLID", idAt, idSize, uint64(MaxID))
	if err != nil {
		return r, err
	}
	code, err := parseField(line, "HTTPRC", codeAt, codeSize, 999)
	if err != nil {
		return r, err
	}
	streamed, err := parseField(line, "STREAMED", streamedAt, stampSize, math.MaxInt64)
	if err != nil {
		return r, err
	}
	r.ID, r.Code, r.Streamed = ID(id), int(code), Stamp(streamed)
	switch {
	case id == 0:
		return r, columnErrorf(idAt+1, "URLID 0 instead of 1 or more")
	case streamed == 0:
		return r, columnErrorf(streamedAt+1, "STREAMED 0 instead of a time")
	case line[parsedAt:parsedAt+stampSize] == blankStamp:
		return r, nil
	}
	parsed, err := parseField(line, "PARSED", parsedAt, stampSize, math.MaxInt64)
	if err == nil && parsed == 0 {
		err = columnErrorf(parsedAt+1, "PARSED 0 instead of a time or blanks")
	}
	r.Parsed = Stamp(parsed)
	return r, err
}

// parseField reads a number of a record.
func parseField(line, name string, from, size int, most uint64) (uint64, error) {
	n, column := parseDigits(line[from : from+size])
	switch {
	case column > 0:
		return 0, columnErrorf(from+column, "%s %q is not %d digits", name, line[from:from+size], size)
	case n > most:
		return 0, columnErrorf(from+1, "%s %q is above %d", name, line[from:from+size], most)
	}
	return n, nil
}

// checkURL returns an error if a URL is not canonical, or has a fragment.
func checkURL(url string) error {
	text, err := canonical.Canonical(url)
	switch {
	case err != nil:
		return fmt.Errorf("URL: %w", err)
	case text != url:
		return fmt.Errorf("the URL is not canonical: write %.200q", text)
	case strings.HasSuffix(url, "#"):
		return fmt.Errorf("the URL ends with #")
	}
	return nil
}
