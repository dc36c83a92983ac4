package revalidate

import (
	"testing"

	"hce/dc/internal/wire"
)

// Servers that compress append to their tags, and answer 304 to one of both forms only.
func TestCodedTags(t *testing.T) {
	for stored, want := range map[string]string{
		"5f-61-gzip":   `"5f-61-gzip", "5f-61"`,
		"5f-61--gzip":  `"5f-61--gzip", "5f-61"`,
		"5f-br":        `"5f-br", "5f"`,
		"W/5f-gzip":    `W/"5f-gzip", W/"5f"`,
		"-gzip":        `"-gzip"`,
		"5f":           `"5f"`,
		"gzip":         `"gzip"`,
		"5f-gzip-more": `"5f-gzip-more"`,
	} {
		got := Rule{Mode: Once}.Headers(&wire.URL{Crawled: 1, ETag: stored}).Get("If-None-Match")
		if got != want {
			t.Errorf("%s: %s, want %s", stored, got, want)
		}
	}
}
