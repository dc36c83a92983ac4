package media

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// Rules are the filters and limits of a site. The zero value only splits and checks URLs.
type Rules struct {
	Filters *filter.Set // those of mode 1 apply
	Limits  *Limits
}

// Page is the page of the media.
type Page struct {
	Base string     // of relative URLs; "": they are dropped
	Env  filter.Env // for the filters; its Mode is ignored

	// Known returns the size of an image of the web, if it is known. It may be nil.
	Known func(url string) (Size, bool)
}

// mostURLs bounds the URLs of one tag.
const mostURLs = 10_000

// Apply cleans the tag media. Without a URL left the tag is removed. dropped has the reason
// for each URL that is gone.
func (r Rules) Apply(res *result.Result, p Page) (dropped []error) {
	t := res.Tag("media")
	if t == nil {
		return nil
	}
	p.Env.Mode = 1
	var values []string
	left := mostURLs
	for _, value := range t.Data {
		var kept []string
		for _, item := range Split(value) {
			if left--; left < 0 {
				dropped = append(dropped, fmt.Errorf("media: more than %d URLs", mostURLs))
				break
			}
			text, err := r.cleanItem(item, p)
			if err != nil {
				dropped = append(dropped, fmt.Errorf("media %q is dropped: %w", prop.Clip(item), err))
				continue
			}
			kept = append(kept, text)
		}
		if len(kept) > 0 {
			values = append(values, strings.Join(kept, ","))
		}
	}
	if len(values) == 0 {
		res.Remove("media")
		return dropped
	}
	t.Data = values
	return dropped
}

// Split returns the URLs of a value: parts that begin with http or data: behind a comma. A
// value with a tag is markup, which stays whole.
func Split(value string) []string {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	if strings.Contains(value, "<") {
		return []string{value}
	}
	var parts []string
	start := 0
	for i := 1; i < len(value); i++ {
		if rest := value[i:]; value[i-1] == ',' && (strings.HasPrefix(rest, "http") || strings.HasPrefix(rest, "data:")) {
			parts = append(parts, value[start:i-1])
			start = i
		}
	}
	parts = append(parts, value[start:])
	out := parts[:0]
	for _, part := range parts {
		if part = strings.Trim(part, ", \t\r\n"); part != "" {
			out = append(out, part)
		}
	}
	return out
}

var (
	errURL    = errors.New("it is neither a URL nor base64 data")
	errFilter = errors.New("a filter of the site excludes it")
)

// cleanItem returns a URL in its absolute form, or why it is dropped.
func (r Rules) cleanItem(item string, p Page) (string, error) {
	switch {
	case strings.Contains(item, "<"):
		return item, r.checkMarkup(item, p)
	case isData(item):
		if !strings.Contains(item, "base64,") {
			return "", errURL
		}
		if r.Filters.Excludes(filter.StageLinks, item[:min(len(item), maxFiltered)], p.Env) {
			return "", errFilter
		}
		return item, r.Limits.checkData(item)
	}
	address, err := absoluteURL(item, p.Base)
	if err != nil {
		return "", err
	}
	return address, r.checkURL(address, Size{}, p)
}

// maxFiltered is how much of a data: URI the filters see, in bytes.
const maxFiltered = 4 << 10

func isData(text string) bool { return len(text) > 5 && strings.EqualFold(text[:5], "data:") }

// absoluteURL resolves a URL of the web.
func absoluteURL(text, base string) (string, error) {
	address, err := canonical.Web.Resolve(base, text)
	if err != nil {
		return "", errURL
	}
	return address, nil
}

// checkURL checks a URL of the web. size is what its markup says.
func (r Rules) checkURL(address string, size Size, p Page) error {
	if r.Filters.Excludes(filter.StageLinks, address, p.Env) {
		return errFilter
	}
	if p.Known != nil {
		if known, ok := p.Known(address); ok {
			size = known
		}
	}
	return r.Limits.checkSize(size)
}

var (
	source = regexp.MustCompile(`(?i)\ssrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	width  = regexp.MustCompile(`(?i)\swidth\s*=\s*["']?\s*(\d{1,6})(?:px)?\s*["'\s/>]`)
	height = regexp.MustCompile(`(?i)\sheight\s*=\s*["']?\s*(\d{1,6})(?:px)?\s*["'\s/>]`)
)

// checkMarkup checks the image of a tag with its attributes. Markup without an address stays.
func (r Rules) checkMarkup(item string, p Page) error {
	m := source.FindStringSubmatch(item)
	if m == nil {
		return nil
	}
	text := m[1] + m[2] + m[3]
	if isData(text) {
		return r.Limits.checkData(text)
	}
	address, err := absoluteURL(text, p.Base)
	if err != nil {
		return err
	}
	return r.checkURL(address, Size{Width: pixelAttribute(width, item), Height: pixelAttribute(height, item)}, p)
}

func pixelAttribute(attribute *regexp.Regexp, markup string) int {
	m := attribute.FindStringSubmatch(markup)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
