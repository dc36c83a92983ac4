package hce

import (
	"fmt"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire/secret"
)

// pageOptions choose what hce page prints.
type pageOptions struct {
	site, version                 string
	text, markdown, html, headers bool
}

func (p program) pageCommand() *command.Command {
	var o options
	var words []string
	var what pageOptions
	c := p.newLeafCommand(command.Text{
		Name: "page", Summary: "prints the stored page of a URL",
		Description: `Without an option it prints title, author, date and text. Only one option applies; --version goes
with --html (default then) and --headers.`,
		Examples: "  hce page https://example.org/ --markdown\n  hce page example.org --headers\n  hce page example.org --version 1 --html",
	}, &o, func(s *session) error { return s.printStoredPage(words[0], what) })
	c.Words(&words, "URL", 1, 1)
	c.Flag(&what.text, "text", "", "print the plain text")
	c.Flag(&what.markdown, "markdown", "", "print the text as Markdown")
	c.Flag(&what.html, "html", "", "print the page as it was received")
	c.Flag(&what.headers, "headers", "", "print the headers of the answer")
	c.Text(&what.version, "version", "", "NUMBER", "print this version of the page as it was received; hce url history lists them")
	c.Text(&what.site, "site", "", "SITE", "site of the URL, if several have it")
	return c
}

// contentNeeds returns the contents for the options, or a refusal of several options.
func (o pageOptions) contentNeeds(json bool) (pages.Needs, error) {
	n, needs := 0, pages.Processed
	for _, choice := range []struct {
		given bool
		needs pages.Needs
	}{{o.text, pages.Processed}, {o.markdown, pages.Processed}, {o.html, pages.Raw}, {o.headers, pages.Headers}, {json, pages.Processed}} {
		if choice.given {
			n, needs = n+1, choice.needs
		}
	}
	if n > 1 {
		return 0, command.Refuse("choose one of --text, --markdown, --html, --headers and --json")
	}
	return needs, nil
}

func (s *session) printStoredPage(typed string, o pageOptions) error {
	needs, err := o.contentNeeds(s.json)
	if err != nil {
		return err
	}
	if o.version != "" {
		return s.printVersion(typed, o)
	}
	row, err := s.openRow(typed, o.site)
	if err != nil {
		return err
	}
	var page *pages.Page
	return s.runLookup(func(s *session) error {
		reader := pages.Reader{Service: s.service, Site: row.SiteID, Where: "`URLMd5`='" + row.URLMd5 + "'", Needs: needs}
		err := reader.Read(s.ctx, "", func(p *pages.Page) error { page = p; return nil }, nil)
		switch {
		case err != nil:
			return err
		case page == nil:
			return command.Refuse("URL %s was deleted at this moment", row.URL)
		}
		return s.printPage(page, o)
	})
}

func (s *session) printPage(p *pages.Page, o pageOptions) error {
	if why := outdatedText(p); why != "" {
		s.printMessage("%s", why)
	}
	switch {
	case o.html && p.Raw == nil, o.headers && p.Headers == nil, !o.html && !o.headers && (p.Result == nil || p.Resource()):
		return s.withoutContent(p.URL)
	case o.html:
		_, err := s.out.Write(p.Raw)
		return err
	case o.headers:
		_, err := fmt.Fprintln(s.out, strings.TrimSpace(secret.ShowAnswerHead(string(p.Headers))))
		return err
	case o.text:
		_, err := fmt.Fprintln(s.out, p.Text("content_encoded"))
		return err
	case o.markdown:
		_, err := fmt.Fprintln(s.out, p.Text("content_markdown"))
		return err
	case s.json:
		return s.pageJSON(p)
	}
	for _, line := range [][2]string{{"title", p.Text("title")}, {"url", p.URL.URL}, {"author", p.Text("author")}, {"date", p.Published().String()}, {"language", p.Text("html_lang")}} {
		if line[1] != "" {
			fmt.Fprintf(s.out, "%-9s %s\n", line[0], cleanLine(line[1]))
		}
	}
	_, err := fmt.Fprintf(s.out, "\n%s\n", p.Text("content_encoded"))
	return err
}

// outdatedText says that a content is old, and why; "" for a current one.
func outdatedText(p *pages.Page) string {
	switch p.Outdated() {
	case "gone":
		return fmt.Sprintf("the page is gone: its server answered %d at %s; this is its last content, of %s", p.HTTPCode, p.UDate, p.ContentDate)
	case "failed":
		return fmt.Sprintf("the last fetch failed at %s (%d %s); this is the content of the fetch before, of %s", p.UDate, p.HTTPCode, strings.Join(p.ErrorMask.Names(), " "), p.ContentDate)
	}
	return ""
}

// pageJSON prints all processed fields of the page.
func (s *session) pageJSON(p *pages.Page) error {
	var names []string
	for _, name := range export.FieldNames() {
		if !export.OnRequest(name) {
			names = append(names, name)
		}
	}
	object, err := export.Object(p, names)
	if err == nil {
		_, err = fmt.Fprintln(s.out, string(object))
	}
	return err
}
