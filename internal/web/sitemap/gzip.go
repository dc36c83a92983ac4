package sitemap

import (
	"bytes"
	"compress/gzip"
	"io"
)

const (
	// maxRatio bounds the decompression ratio, after the first ratioFrom bytes. Real
	// sitemaps stay below 100; a bomb reaches 1,000.
	maxRatio  = 250
	ratioFrom = 1 << 20
	// maxLayers bounds nested gzip: some servers compress a ".gz" file again.
	maxLayers = 2
)

// unpack decompresses body to at most max bytes, and reports whether something is missing.
// A broken stream gives the bytes before the break.
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
		unpacked, _ := io.ReadAll(io.LimitReader(r, limit+1)) // an error means a broken end
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
