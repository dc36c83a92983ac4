package cycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/links"
	"hce/dc/internal/wire"
	"hce/dc/robots"
	"hce/dc/warc"
)

// runParse is OSEM002.
func (c *Cycle) runParse(ctx context.Context, j *job) error {
	p, err := j.newPass(folder.Parsing, c.Now)
	if err != nil {
		return err
	}
	defer p.closeFiles()
	err = p.forEachRecord(func(r folder.Record) (folder.Record, error) {
		if r.ID == 0 || r.Parsed != 0 {
			return r, nil
		}
		if err := ctx.Err(); err != nil {
			return r, err
		}
		parsed, err := p.parsePage(r)
		if parsed {
			r.Parsed = folder.StampOf(c.Now())
			j.report.Done++
		}
		return r, err
	})
	if err != nil {
		return err
	}
	return p.finishPass(folder.Merging)
}

// parsePage writes the links of a page. A page that cannot be read stays without PARSED.
func (p *pass) parsePage(r folder.Record) (bool, error) {
	data, err := p.Body(r.ID)
	var fault *folder.Fault
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &fault) {
		p.report.Failed++
		p.log.warnAll("page cannot be read", "url", r.URL, "error", err)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("parse %s: %w", r.URL, err)
	}
	valid, malformed := Links(r.URL, r.Code, data)
	return true, errors.Join(
		p.batch.Write(folder.LinksName(r.ID), folder.AppendLinks(nil, valid)),
		p.batch.Write(folder.MalformedName(r.ID), folder.AppendMalformed(nil, malformed)))
}

// Links returns the links of what a server returned for a URL, a head and a body: canonical URLs, and
// those that have no canonical form as written, each once and in the order of the page. Links are the
// href of a and area elements and the target of a meta refresh on an HTML page with a code of a page, and
// the Location of a redirect. A page that asks robots not to follow its links has none.
func Links(url string, code int, data []byte) (valid, malformed []string) {
	head, body := warc.ParseMessage(data)
	base, found := url, []string(nil)
	switch {
	case code/100 == 3 && head.Fields.Get("Location") != "":
		found = []string{head.Fields.Get("Location")}
	case wire.IsPageCode(int64(code)):
		base, found, malformed = pageLinks(url, head, body)
	}
	seen, wrong := map[string]bool{}, map[string]bool{}
	for _, text := range found {
		link, err := canonical.Web.Resolve(base, text)
		switch {
		case err != nil && !wrong[text]:
			wrong[text] = true
			malformed = append(malformed, text[:min(len(text), maxMalformed)])
		case err == nil && !seen[link]:
			seen[link] = true
			valid = append(valid, link)
		}
	}
	return valid, malformed
}

// maxMalformed is what is kept of a malformed link, in bytes.
const maxMalformed = 8 << 10

// agent is the name of this program in the directives of pages.
const agent = "HCE-DC"

// pageLinks returns the links of an HTML page as written, and their base. dead are those that lead to
// no document.
func pageLinks(url string, head warc.Message, body []byte) (base string, found, dead []string) {
	base = url
	declared := head.Fields.Get("Content-Type")
	if !content.IsHTML(content.Sniff(declared, body)) {
		return base, nil, nil
	}
	text, name, _ := charset.Decode(body, declared) // an error is a warning: the text is usable
	page := links.Anchors(text)
	if robotsDirectives(head, page).NoFollow {
		return base, nil, nil
	}
	if b, err := canonical.Web.Resolve(url, page.Base); err == nil {
		base = b
	}
	for _, link := range page.Links {
		found = append(found, charset.EncodeQuery(link.URL, name))
	}
	if page.Refresh != "" {
		found = append(found, charset.EncodeQuery(page.Refresh, name))
	}
	return base, found, page.Dead
}

// robotsDirectives are what a page asks of robots.
func robotsDirectives(head warc.Message, page links.Page) robots.Directives {
	var tags []string
	for _, f := range head.Fields {
		if strings.EqualFold(f.Name, "X-Robots-Tag") {
			tags = append(tags, f.Value)
		}
	}
	d := robots.ParseTag(tags, agent)
	for _, m := range page.Robots {
		if robots.Addresses(m.Agent, agent) {
			d = d.Merge(robots.ParseMeta(m.Content))
		}
	}
	return d
}
