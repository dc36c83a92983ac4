package urlcommands

import (
	"fmt"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire/secret"
)

// pageOptions choose what hce page prints.
type pageOptions struct {
	site, version                 string
	text, markdown, html, headers bool
}

func PageCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	var what pageOptions
	c := p.NewLeaf(command.Text{
		Name: "page", Summary: "prints the stored page of a URL",
		Description: `Without an option it prints title, author, date and text. Only one option applies; --version goes
with --html (default then) and --headers.`,
		Examples: "  hce page https://example.org/ --markdown\n  hce page example.org --headers\n  hce page example.org --version 1 --html",
	}, &o, func(s *subcommand.Session) error { return printStoredPage(s, words[0], what) })
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

func printStoredPage(s *subcommand.Session, typed string, o pageOptions) error {
	needs, err := o.contentNeeds(s.JSON)
	if err != nil {
		return err
	}
	if o.version != "" {
		return printVersion(s, typed, o)
	}
	row, err := s.OpenRow(typed, o.site)
	if err != nil {
		return err
	}
	var page *pages.Page
	return s.RunLookup(func(s *subcommand.Session) error {
		reader := pages.Reader{Service: s.Service, Site: row.SiteID, Where: "`URLMd5`='" + row.URLMd5 + "'", Needs: needs}
		err := reader.Read(s.Ctx, "", func(p *pages.Page) error { page = p; return nil }, nil)
		switch {
		case err != nil:
			return err
		case page == nil:
			return command.Refuse("URL %s was deleted at this moment", row.URL)
		}
		return printPage(s, page, o)
	})
}

func printPage(s *subcommand.Session, p *pages.Page, o pageOptions) error {
	if why := outdatedText(p); why != "" {
		s.PrintMessage("%s", why)
	}
	switch {
	case o.html && p.Raw == nil, o.headers && p.Headers == nil, !o.html && !o.headers && (p.Result == nil || p.Resource()):
		return withoutContent(s.Options, p.URL)
	case o.html:
		_, err := s.Out.Write(p.Raw)
		return err
	case o.headers:
		_, err := fmt.Fprintln(s.Out, strings.TrimSpace(secret.ShowAnswerHead(string(p.Headers))))
		return err
	case o.text:
		_, err := fmt.Fprintln(s.Out, p.Text("content_encoded"))
		return err
	case o.markdown:
		_, err := fmt.Fprintln(s.Out, p.Text("content_markdown"))
		return err
	case s.JSON:
		return pageJSON(s, p)
	}
	for _, line := range [][2]string{{"title", p.Text("title")}, {"url", p.URL.URL}, {"author", p.Text("author")}, {"date", p.Published().String()}, {"language", p.Text("html_lang")}} {
		if line[1] != "" {
			fmt.Fprintf(s.Out, "%-9s %s\n", line[0], plaintext.Clean(line[1]))
		}
	}
	_, err := fmt.Fprintf(s.Out, "\n%s\n", p.Text("content_encoded"))
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
func pageJSON(s *subcommand.Session, p *pages.Page) error {
	var names []string
	for _, name := range export.FieldNames() {
		if !export.OnRequest(name) {
			names = append(names, name)
		}
	}
	object, err := export.Object(p, names)
	if err == nil {
		_, err = fmt.Fprintln(s.Out, string(object))
	}
	return err
}
