package sitemap

import (
	"bytes"
	"compress/gzip"
	"io"
)

const (
	// maxRatio is how many times larger than packed a sitemap may be, above
	// ratioFrom bytes. Real ones stay below 100; a bomb reaches 1,000.
	maxRatio  = 250
	ratioFrom = 1 << 20
	// maxLayers is how often a sitemap is unpacked: servers pack what is a
	// ".gz" already.
	maxLayers = 2
)

// unpack returns the body without its gzip layers, at most max bytes of it, and
// whether something is missing. A stream that breaks gives what stands before.
func unpack(body []byte, max int64) (text []byte, cut bool) {
	for range maxLayers {
		if !bytes.HasPrefix(body, []byte{0x1F, 0x8B}) {
			break
		}
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, false
		}
		limit := min(max, maxRatio*int64(len(body))+ratioFrom)
		unpacked, _ := io.ReadAll(io.LimitReader(r, limit+1)) // an error is a broken end
		if int64(len(unpacked)) > limit {
			unpacked, cut = unpacked[:limit], true
		}
		body = unpacked
	}
	if int64(len(body)) > max {
		body, cut = body[:max], true
	}
	return body, cut
}
