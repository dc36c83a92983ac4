package seen

import "testing"

// Links are remembered by site.
func TestLinksSeen(t *testing.T) {
	var seen Links
	key := [16]byte{1}
	before := seen.Has("s", key)
	seen.Add("s", key)
	if before || !seen.Has("s", key) || seen.Has("t", key) || seen.Has("s", [16]byte{2}) {
		t.Error("a link is new once for each site")
	}
}
