package coding

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// coded returns a text in a coding; "bare" is deflate without the header of zlib.
func coded(t testing.TB, coding, text string) string {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "bare":
		w, err = flate.NewWriter(&out, 6)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	}
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func granted(int64) error { return nil }

func TestDecode(t *testing.T) {
	text := strings.Repeat("a text ", 1000)
	for name, c := range map[string]struct {
		body    string
		codings []string
		want    string
	}{
		"gzip":          {coded(t, "gzip", text), []string{"gzip"}, text},
		"two members":   {coded(t, "gzip", text) + coded(t, "gzip", "end"), []string{"gzip"}, text + "end"},
		"deflate":       {coded(t, "deflate", text), []string{"deflate"}, text},
		"bare deflate":  {coded(t, "bare", text), []string{"deflate"}, text},
		"br":            {coded(t, "br", text), []string{"br"}, text},
		"zstd":          {coded(t, "zstd", text), []string{"zstd"}, text},
		"gzip, then br": {coded(t, "br", coded(t, "gzip", text)), []string{"gzip", "br"}, text},
		"none":          {text, nil, text},
		"an empty body": {"", []string{"zstd"}, ""},
	} {
		for range 2 { // decoders are used again
			r, release, err := Decode(strings.NewReader(c.body), c.codings, granted)
			if err != nil {
				t.Fatal(name, err)
			}
			got, err := io.ReadAll(r)
			release()
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	}
}

// Browsers do not look at checksums: the data are whole. The reader says what is missing.
func TestChecksums(t *testing.T) {
	text := strings.Repeat("a text ", 1000)
	packed, zlibbed := coded(t, "gzip", text), coded(t, "deflate", text)
	named := packed[:3] + "\x1c" + packed[4:10] + "\x02\x00xy" + "name\x00comment\x00" + packed[10:]
	wrong := []byte(packed)
	wrong[len(wrong)-5] ^= 1
	for name, c := range map[string]struct {
		body, coding string
		repaired     bool
		fails        bool
	}{
		"whole":                     {packed, "gzip", false, false},
		"with extra, name, comment": {named, "gzip", false, false},
		"no trailer":                {packed[:len(packed)-8], "gzip", true, false},
		"half a trailer":            {packed[:len(packed)-3], "gzip", true, false},
		"wrong checksum":            {string(wrong), "gzip", true, false},
		"padding":                   {packed + strings.Repeat("\x00", 100), "gzip", false, false},
		"data cut":                  {packed[:len(packed)-9], "gzip", false, true},
		"header cut":                {named[:20], "gzip", false, true},
		"deflate without checksum":  {zlibbed[:len(zlibbed)-4], "deflate", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, release, err := Decode(strings.NewReader(c.body), []string{c.coding}, granted)
			var got []byte
			if err == nil {
				defer release()
				got, err = io.ReadAll(r)
			}
			switch {
			case (err != nil) != c.fails:
				t.Error(err)
			case err == nil && (string(got) != text || Repaired(r) != c.repaired):
				t.Errorf("%d bytes, repaired %v", len(got), Repaired(r))
			}
		})
	}
}

func TestRefused(t *testing.T) {
	if _, _, err := Decode(strings.NewReader("x"), []string{"gzip", "gzip", "gzip", "gzip"}, granted); err == nil {
		t.Error("four codings are accepted")
	}
	full := errors.New("full")
	if _, _, err := Decode(strings.NewReader(coded(t, "zstd", "x")), []string{"zstd"}, func(int64) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if _, _, err := Decode(strings.NewReader("no gzip"), []string{"gzip"}, granted); err == nil {
		t.Error("a text is accepted as gzip")
	}
}

func TestOf(t *testing.T) {
	for line, want := range map[string]string{"gzip": "gzip", " X-GZIP ,, br": "gzip br", "identity": "", "utf-8, zstd": "zstd", "": ""} {
		if got := strings.Join(Of([]string{line}), " "); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
	if got := Of([]string{"gzip", "deflate"}); !slices.Equal(got, []string{"gzip", "deflate"}) {
		t.Error(got)
	}
}

// Decoding any bytes ends, with an error or not.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
		f.Add([]byte(coded(f, name, "a text")), name)
	}
	f.Fuzz(func(t *testing.T, body []byte, line string) {
		r, release, err := Decode(bytes.NewReader(body), Of([]string{line}), granted)
		if err != nil {
			return
		}
		defer release()
		_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20)) // an error is one possible end
	})
}
