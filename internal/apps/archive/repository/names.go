package repository

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/canonical"
	"hce/dc/internal/apps/archive"
)

const (
	maxSegment = 180  // bytes of one name that comes from a URL
	maxFolder  = 1500 // bytes of the path of a page below its domain
	maxDepth   = 100  // folders
	longFolder = "~long"

	maxFile      = 180 // bytes of one name that a client gives
	maxFilePath  = 700
	maxFileDepth = 8
)

var domainName = regexp.MustCompile(`^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$`)

// CheckDomain refuses a text that is not the host of a canonical URL, with or without a port.
func CheckDomain(domain string) error {
	if len(domain) > 200 || !domainName.MatchString(domain) {
		return fmt.Errorf("domain %.250q %w: expected a host such as example.org or example.org:8080", domain, archive.ErrInvalid)
	}
	return nil
}

// Domain returns the domain of a canonical URL: its host, with the port if it is not that of the scheme.
func Domain(href string) (string, error) {
	u := canonical.Split(href)
	if u.Scheme != "http" && u.Scheme != "https" || u.User != "" || u.Host == "" {
		return "", fmt.Errorf("URL %.300q %w: expected a canonical URL with http or https and no user", href, archive.ErrInvalid)
	}
	return u.Host, CheckDomain(u.Host)
}

// folderOf returns the folder of a canonical URL below its domain, before collisions are resolved.
func folderOf(href string) (string, error) {
	u := canonical.Split(href)
	if u.Host == "" {
		return "", fmt.Errorf("URL %.300q %w: it has no host", href, archive.ErrInvalid)
	}
	segments := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	last := len(segments) - 1
	if segments[last] == "" {
		segments[last] = "index"
	}
	if u.Query != "" || strings.HasSuffix(href, "?") {
		segments[last] += "?" + u.Query
	}
	for i := range segments {
		segments[i] = segmentName(segments[i])
	}
	folder := strings.Join(segments, "/")
	if len(folder) > maxFolder || len(segments) > maxDepth {
		return longFolder + "/" + hashHex(href, 32), nil
	}
	return folder, nil
}

// segmentName makes a name of a file from a part of a URL. What has no meaning for the file system
// stays as it is.
func segmentName(segment string) string {
	var b strings.Builder
	for i, c := range []byte(segment) {
		if c <= ' ' || c >= 0x7f || c == '/' || c == '\\' || c == ':' || c == '"' || c == '~' || i == 0 && (c == '.' || c == '-') {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	name := b.String()
	switch {
	case name == "":
		return "%" // "//" in a path
	case len(name) > maxSegment:
		return name[:maxSegment-20] + "~" + hashHex(segment, 16)
	case strings.HasSuffix(name, "."):
		return name[:len(name)-1] + "%2E"
	}
	return name
}

func hashHex(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// Names returns the folder of each URL below its domain. The URLs are canonical, of one domain, sorted
// and different.
//
// The folder is the path of the URL, and its last part the name of the file. A path that ends with a
// slash gets the name "index"; a query follows the name after "?". Parts of a URL keep their escapes,
// such as %20. Bytes that would mean something to the file system or to git are escaped,
// as are "~", and the first byte of a name that begins with "." or "-": so no name is "..", ".git" or
// "git~1". A name
// of more than 180 bytes is cut and ends with "~" and a hash of its whole; a folder of more than 1500
// bytes is "~long/" and a hash of the URL.
//
// Two URLs may want the same folder: /a/ and /a/index, http and https, or two that differ by case only,
// which macOS and Windows do not tell apart. And one may want a folder inside of the folder of another
// page: /a and /a/b. Then the later URL, and the outer page, get a folder that ends with "~" and a hash
// of the URL. data.xml has the URL, so no reader needs the name of the folder.
func Names(urls []string) (map[string]string, error) {
	names := make(map[string]string, len(urls))
	inner := map[string]bool{} // folders that have pages below, without case
	for _, href := range urls {
		folder, err := folderOf(href)
		if err != nil {
			return nil, err
		}
		names[href] = folder
		for dir := path.Dir(strings.ToLower(folder)); dir != "."; dir = path.Dir(dir) {
			if inner[dir] {
				break
			}
			inner[dir] = true
		}
	}
	taken := make(map[string]bool, len(urls))
	for _, href := range urls {
		folder := names[href]
		for digits := 8; taken[strings.ToLower(folder)] || inner[strings.ToLower(folder)]; digits *= 2 {
			if digits > 64 {
				return nil, fmt.Errorf("URL %.300q %w: it is there twice", href, archive.ErrInvalid)
			}
			folder = names[href] + "~" + hashHex(href, digits)
		}
		taken[strings.ToLower(folder)] = true
		names[href] = folder
	}
	return names, nil
}

// DataName returns the name of the file with the bytes of a page. Its extension is that of the type, else
// that of the URL. The content of an XML page is data.source.xml, since data.xml has the metadata.
func DataName(href, mimeType string) string {
	if extension, known := extensions[mimeType]; known {
		return "data." + extension
	}
	if u, err := canonical.Net(href); err == nil {
		extension := strings.ToLower(strings.TrimPrefix(path.Ext(u.Path), "."))
		if plainExtension.MatchString(extension) && extension != "xml" {
			return "data." + extension
		}
	}
	switch {
	case strings.HasSuffix(mimeType, "+xml"):
		return "data.source.xml"
	case strings.HasPrefix(mimeType, "text/"):
		return "data.txt"
	}
	return "data.bin"
}

var plainExtension = regexp.MustCompile(`^[a-z0-9]{1,10}$`)

// extensions are those of the types that pages usually have.
var extensions = map[string]string{
	"text/html": "html", "application/xhtml+xml": "xhtml", "text/plain": "txt", "text/css": "css", "text/csv": "csv",
	"text/markdown": "md", "text/xml": "source.xml", "application/xml": "source.xml", "application/rss+xml": "rss", "application/atom+xml": "atom",
	"text/javascript": "js", "application/javascript": "js", "application/json": "json", "application/pdf": "pdf",
	"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
	"application/zip": "zip", "application/gzip": "gz",
}

// metaFile is the name of the file with metadata and nodes.
const metaFile = "data.xml"

// checkFile refuses a name that a client cannot use in the folder of a page: relative, with slashes,
// without hidden and reserved names.
func checkFile(name string) error {
	refuse := func(reason string) error {
		return fmt.Errorf("file name %.800q %w: %s", name, archive.ErrInvalid, reason)
	}
	parts := strings.Split(name, "/")
	if len(name) > maxFilePath || len(parts) > maxFileDepth || !utf8.ValidString(name) {
		return refuse(fmt.Sprintf("expected UTF-8 of at most %d bytes and %d folders", maxFilePath, maxFileDepth-1))
	}
	for _, part := range parts {
		switch {
		case part == "" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "-"):
			return refuse("a part is empty or begins with . or -")
		case len(part) > maxFile:
			return refuse(fmt.Sprintf("a part has more than %d bytes", maxFile))
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || strings.ContainsAny(part, "\\:~") || strings.IndexFunc(part, isUnprintable) >= 0:
			return refuse(`a part ends with a dot or blank, or has \, :, ~ or control characters`)
		}
	}
	return nil
}

func isUnprintable(c rune) bool { return !unicode.IsPrint(c) }

// checkNewFile is checkFile for a file that is to be made. data.xml is made by crawls only, at any depth,
// so that it can be found in each version.
func checkNewFile(name string) error {
	if err := checkFile(name); err != nil {
		return err
	}
	if strings.EqualFold(path.Base(name), metaFile) {
		if name == metaFile {
			return fmt.Errorf("file %s %w", name, archive.ErrExists)
		}
		return fmt.Errorf("file name %.800q %w: the name %s is reserved", name, archive.ErrInvalid, metaFile)
	}
	return nil
}
