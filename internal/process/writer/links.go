package writer

import (
	"bytes"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/htmltree"
)

// Base is the base of the links of a page.
type Base struct {
	text    string // the canonical URL; as given if it has none
	charset string // of the page, for queries of its links
	whole   []byte // without query and fragment
	query   []byte // the URL without a fragment
	origin  []byte
	dir     []byte // up to the last slash of the path
	scheme  []byte
	seen    map[string]bool
}

// URL returns the base.
func (b *Base) URL() string { return b.text }

// NewBase returns the base of the links of a page with a charset ("": UTF-8): the href of its base element, resolved
// against its URL.
func NewBase(pageURL string, href []byte, charset string) *Base {
	b := &Base{text: pageURL, charset: charset, seen: map[string]bool{}}
	if text, err := canonical.Canonical(pageURL); err == nil {
		b.text = text
	}
	if text, err := canonical.Web.Resolve(b.text, string(href)); len(href) > 0 && err == nil {
		b.text = text
	}
	text := canonical.WithoutFragment(b.text)
	b.query = []byte(text)
	text, _, _ = strings.Cut(text, "?")
	b.whole = []byte(text)
	scheme, rest, _ := strings.Cut(text, "://")
	host, _, folder := strings.Cut(rest, "/")
	if scheme == "http" || scheme == "https" {
		b.scheme = []byte(scheme + ":")
		b.origin = b.whole[:len(scheme)+len("://")+len(host)]
		b.dir = append(append([]byte{}, b.origin...), '/')
		if folder {
			b.dir = b.whole[:bytes.LastIndexByte(b.whole, '/')+1]
		}
	}
	return b
}

// plainURL are the bytes that a URL has as they are.
var plainURL [256]bool

func init() {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/?=&+,;@$:" {
		plainURL[c] = true
	}
}

// Append appends the absolute form of a reference, without its fragment unless keep. ok is false for one that is not http.
func (b *Base) Append(dst, ref []byte, keep bool) (_ []byte, ok bool) {
	ref = trimControls(ref)
	if len(ref) == 0 {
		return dst, false
	}
	fragment := []byte(nil)
	if hash := bytes.IndexByte(ref, '#'); hash >= 0 {
		ref, fragment = ref[:hash], ref[hash:]
	}
	colon, plain := findScheme(ref)
	if keep && plain {
		plain = isPlain(fragment[min(1, len(fragment)):])
	}
	if !plain || b.dir == nil && colon < 0 {
		return b.appendSlow(dst, ref, fragment, keep)
	}
	var before []byte
	switch {
	case len(ref) == 0:
		before = b.query
	case colon >= 0:
		switch {
		case htmltree.HasPrefix(ref, "https://") && len(ref) > 8, htmltree.HasPrefix(ref, "http://") && len(ref) > 7:
			if bytes.IndexByte(ref, '@') >= 0 || bytes.Contains(ref[8:], []byte("/.")) {
				return b.appendSlow(dst, ref, fragment, keep)
			}
		case htmltree.HasPrefix(ref, "http"), htmltree.HasPrefix(ref, "HTTP"):
			return b.appendSlow(dst, ref, fragment, keep)
		default:
			return dst, false
		}
	case htmltree.HasPrefix(ref, "//"):
		if bytes.IndexByte(ref, '@') >= 0 || bytes.Contains(ref, []byte("/.")) || len(ref) == 2 {
			return b.appendSlow(dst, ref, fragment, keep)
		}
		before = b.scheme
	case ref[0] == '/':
		if bytes.Contains(ref, []byte("/.")) {
			return b.appendSlow(dst, ref, fragment, keep)
		}
		before = b.origin
	case ref[0] == '?':
		before = b.whole
	default:
		folder, left := b.climbFolders(ref)
		if len(left) > 0 && left[0] == '.' && (len(left) == 1 || left[1] == '.') || bytes.Contains(left, []byte("/.")) {
			return b.appendSlow(dst, ref, fragment, keep)
		}
		before, ref = folder, left
	}
	dst = append(append(dst, before...), ref...)
	if keep {
		dst = append(dst, fragment...)
	}
	return dst, true
}

// trimControls removes the blanks and control characters around a reference.
func trimControls(ref []byte) []byte {
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for len(ref) > 0 && ref[len(ref)-1] <= ' ' {
		ref = ref[:len(ref)-1]
	}
	return ref
}

// findScheme returns the place of the colon behind the scheme of a reference, -1 without one, and whether the reference
// is plain.
func findScheme(ref []byte) (colon int, plain bool) {
	colon = -1
	slash := false
	for i, c := range ref {
		switch {
		case !plainURL[c]:
			return colon, false
		case c == ':' && colon < 0 && !slash:
			colon = i
		case c == '/' || c == '?':
			slash = true
		}
	}
	return colon, true
}

// isPlain reports whether a URL has the text unchanged.
func isPlain(text []byte) bool {
	for _, c := range text {
		if !plainURL[c] {
			return false
		}
	}
	return true
}

// climbFolders returns the folder that a reference begins in, and its part behind each ./ and ../ at its begin.
func (b *Base) climbFolders(ref []byte) (dir, rest []byte) {
	dir = b.dir
	for {
		switch {
		case htmltree.HasPrefix(ref, "./"):
			ref = ref[2:]
		case htmltree.HasPrefix(ref, "../"):
			ref = ref[3:]
			if i := bytes.LastIndexByte(dir[:len(dir)-1], '/'); i >= len(b.origin) {
				dir = dir[:i+1]
			}
		default:
			return dir, ref
		}
	}
}

// appendSlow is Append for references that are not plain, as the crawler and browsers resolve them.
func (b *Base) appendSlow(dst, ref, fragment []byte, keep bool) ([]byte, bool) {
	text, err := canonical.Web.Resolve(b.text, charset.EncodeQuery(string(ref), b.charset))
	if err != nil {
		return dst, false
	}
	dst = append(dst, text...)
	if !keep {
		return dst, true
	}
	for _, c := range fragment {
		switch {
		case c == '\n' || c == '\r' || c == '\t':
		case c <= ' ' || c >= 0x7F || c == '"' || c == '<' || c == '>' || c == '`':
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst, true
}

const hex = "0123456789ABCDEF"

// appendLink appends an address for Markdown, with what would end it or be read as a mark in another form.
func (b *Base) appendLink(dst, ref []byte) []byte {
	from := len(dst)
	dst, ok := b.Append(dst, ref, true)
	if !ok {
		dst = append(dst, bytes.TrimSpace(ref)...)
	}
	if bytes.IndexFunc(dst[from:], isUnsafe) < 0 {
		return dst
	}
	address := append([]byte{}, dst[from:]...)
	dst = dst[:from]
	for i, c := range address {
		switch {
		case c == '(' || c == ')':
			dst = append(dst, '\\', c)
		case c == '&':
			if dst = append(dst, '&'); isReference(address[i+1:], ' ') {
				dst = append(dst, "amp;"...)
			}
		case isUnsafe(rune(c)):
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// isUnsafe reports whether a character of an address means something in Markdown.
func isUnsafe(r rune) bool {
	return r <= ' ' || r == '(' || r == ')' || r == '<' || r == '>' || r == '\\' || r == '&' || r == 0x7F
}

const maxLinks = 5000

// Links returns the links and media of the page, each once, absolute. main is the image that the page names.
func (b *Base) Links(d *htmltree.Doc, main []byte) (links, media []string) {
	clear(b.seen)
	seenMedia := map[string]bool{}
	// addresses are parts of chunks, which stay as they are once a link is in them
	chunk := make([]byte, 0, 4096)
	add := func(ref []byte, list *[]string, seen map[string]bool) {
		raw := ref
		if i := bytes.IndexByte(raw, '#'); i >= 0 {
			raw = raw[:i]
		}
		if seen[htmltree.String(raw)] {
			return
		}
		seen[htmltree.String(raw)] = true
		if cap(chunk)-len(chunk) < len(ref)+len(b.query)+64 {
			chunk = make([]byte, 0, max(4096, 2*len(ref)+len(b.query)+64))
		}
		from := len(chunk)
		x, ok := b.Append(chunk, ref, false)
		if !ok {
			return
		}
		u := x[from:]
		if seen[htmltree.String(u)] && len(u) != len(raw) {
			return
		}
		seen[htmltree.String(u)] = true
		chunk = x
		*list = append(*list, htmltree.String(u))
	}
	if len(main) > 0 {
		add(main, &media, seenMedia)
	}
	count := 0
	for i := range d.Nodes {
		n := &d.Nodes[i]
		switch n.Tag {
		case htmltree.TagA, htmltree.TagArea:
			if v := d.Attr(n, htmltree.KeyHref); len(v) > 0 && count < maxLinks {
				count++
				add(v, &links, b.seen)
			}
		case htmltree.TagImg, htmltree.TagSource, htmltree.TagVideo, htmltree.TagAudio, htmltree.TagEmbed, htmltree.TagTrack:
			if v := d.Attr(n, htmltree.KeySrc); len(v) > 0 && count < maxLinks && !htmltree.HasPrefix(v, "data:") {
				count++
				add(v, &media, seenMedia)
			}
		}
	}
	return links, media
}
