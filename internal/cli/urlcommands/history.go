package urlcommands

import (
	"fmt"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
)

// version is a line of hce url history, as it is printed with --json.
type version struct {
	Version int    `json:"version"` // from 1, the oldest
	Stored  string `json:"stored"`  // UTC
	Size    int    `json:"size"`    // bytes
	Md5     string `json:"md5"`
}

func urlHistoryCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	var site string
	c := p.NewLeaf(command.Text{
		Name: "history", Summary: "lists the stored versions of a page",
		Description: `A crawl adds a version if the body has changed. RAW_VERSIONS_MAX of the site limits their number
(0, the default: all). Print a version with "hce page URL --version N".`,
		Examples: "  hce url history https://example.org/a",
	}, &o, func(s *subcommand.Session) error { return printHistory(s, words[0], site) })
	c.Words(&words, "URL", 1, 1)
	c.Text(&site, "site", "", "SITE", "site of the URL, if several have it")
	return c
}

func printHistory(s *subcommand.Session, typed, site string) error {
	_, list, err := storedVersions(s, typed, site)
	if err != nil {
		return err
	}
	rows := make([]version, len(list))
	t := plaintext.Table{Head: []string{" VERSION", "STORED", " SIZE", "MD5"}}
	for i, v := range list {
		rows[i] = version{v.Number, v.Stored, len(v.Raw), wire.Md5(v.Raw)}
		t.AddRow(fmt.Sprint(v.Number), v.Stored, files.Bytes(int64(len(v.Raw))), rows[i].Md5)
	}
	if s.JSON {
		return s.PrintJSON(rows)
	}
	t.Print(s.Out)
	return nil
}

// storedVersions returns the stored versions of a page, at least one.
func storedVersions(s *subcommand.Session, typed, site string) (wire.URL, []pages.Version, error) {
	row, err := s.OpenRow(typed, site)
	if err != nil {
		return row, nil, err
	}
	var list []pages.Version
	err = s.RunLookup(func(s *subcommand.Session) error {
		list, err = pages.Versions(s.Ctx, s.Service, row)
		if err == nil && len(list) == 0 {
			err = withoutContent(s.Options, row)
		}
		return err
	})
	return row, list, err
}

// withoutContent refuses to show what is not stored.
func withoutContent(o subcommand.Options, row wire.URL) error {
	if row.Resource() {
		return command.Refuse("URL %s is a resource (%s) and no page, so it has no text; print it as it was received with --html", row.URL, row.ContentType)
	}
	return command.Refuse("URL %s has no such content: it is %s, with HTTP code %d %s; see: %s", row.URL, export.StatusName(row.Status), row.AnsweredCode(), strings.Join(row.ErrorMask.Names(), " "), o.CommandHint("url", "show", row.URL, "--site", row.SiteID))
}

// printVersion prints one version of a page.
func printVersion(s *subcommand.Session, typed string, o pageOptions) error {
	if o.text || o.markdown || s.JSON {
		return command.Refuse("--version goes with --html and --headers: only the newest version is processed")
	}
	n, err := command.ParseNumber("--version", o.version, 1, 1<<31)
	if err != nil {
		return command.Refusal{Err: err}
	}
	row, list, err := storedVersions(s, typed, o.site)
	if err != nil {
		return err
	}
	if n > int64(len(list)) {
		return command.Refuse("--version %d: URL %s has %s; list them with: %s", n, row.URL, plaintext.Count(int64(len(list)), "version", "versions"), s.CommandHint("url", "history", row.URL, "--site", row.SiteID))
	}
	v := list[n-1]
	if !o.headers {
		_, err = s.Out.Write(v.Raw)
		return err
	}
	if v.Headers == nil {
		return command.Refuse("--version %d of %s has no stored headers; the property STORE_HTTP_HEADERS of the site stores them", n, row.URL)
	}
	_, err = fmt.Fprintln(s.Out, strings.TrimSpace(secret.ShowAnswerHead(string(v.Headers))))
	return err
}
