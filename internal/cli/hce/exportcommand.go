package hce

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/objectstore"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
)

// exportOptions are those of hce export.
type exportOptions struct {
	format, where, fields, out    string
	since, fetchedSince           string
	all, markdown, force, noindex bool
	raw, allSites, abort          bool
}

// declareOutput declares the options that hce crawl has too. to says where the pages go without --out.
func (e *exportOptions) declareOutput(c *command.Command, to string) {
	c.Choice(&e.format, "format", "", "NAME", "format of the output; without it the name of --out says it (.jsonl, .csv, .parquet, .warc, .warc.gz, .wacz, .xml: sitemap, a folder: md), else jsonl", export.Names()...)
	c.Text(&e.out, "out", "o", "FILE", "file to write, or folder, whose name ends with / if it does not exist, or object s3://BUCKET/KEY; -: stdout; default: "+to)
	c.Choices(&e.fields, "fields", "", "LIST", "fields of jsonl, csv and parquet, separated by commas: "+strings.Join(export.FieldNames(), ", ")+", and tag:NAME for a tag of a template", export.FieldNames()...)
	c.Flag(&e.noindex, "noindex", "", "pages that ask robots not to index them, too")
	c.Flag(&e.markdown, "markdown", "", "the field text is Markdown")
	c.Flag(&e.raw, "raw", "", "csv: cells that begin with = + - @ tab or return as they are; else an apostrophe stands before them, so that no spreadsheet runs them")
	c.Flag(&e.force, "force", "", "replace a file or an object, or write into a folder that has files")
}

func exportCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	var e exportOptions
	var about strings.Builder
	for _, f := range export.Formats {
		fmt.Fprintf(&about, "  %-8s %s\n", f.Name, f.About)
	}
	c := p.NewLeaf(command.Text{
		Name: "export", Summary: "writes the pages of sites in a format for other programs",
		Description: `Formats:
` + about.String() + `
Only pages that were fetched well are written, unless --all says otherwise. Pages that ask robots not to
index them (noindex, none, a past unavailable_after), such as forms and old versions of wikis, are left
out and counted, unless --noindex or --all is given; the archives files, warc and wacz have them. Scripts, style
sheets, pictures, sitemaps and feeds are no pages: they are in these archives and in --all. Memory does not
grow with the number of pages. After an interruption the same command continues the output.

--out s3://BUCKET/KEY writes an object in a store with the protocol of Amazon S3: endpoint, region and
credentials are those of AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_PROFILE and others
(docs/objectstore.md). The object appears at the end. The store keeps the parts of an interrupted export
until the same command completes it, a rule of the bucket ends it (AbortIncompleteMultipartUpload), or
--abort-upload does.

The crawl may go on meanwhile. A page that exists during the whole export is written exactly
once, as it was when its portion was read; pages that are added meanwhile may be missing.`,
		Examples: `  hce export example.org --out pages.csv
  hce export example.org --fields url,title,date --since 7d
  hce export example.org --out pages.parquet
  hce export example.org --out pages/
  hce export example.org --out s3://bucket/pages.warc.gz
  hce export example.org --where 'Depth < 3' | jq -r .title`,
	}, &o, func(s *subcommand.Session) error { return exportPages(s, words, e) })
	c.Words(&words, "[SITE...]", 0, 0)
	c.Flag(&e.allSites, "all-sites", "", "the pages of all sites")
	e.declareOutput(c, "stdout")
	c.Flag(&e.abort, "abort-upload", "", "export nothing: let the store drop what interrupted exports to the object of --out have sent")
	c.Hint("limit", "pipe the lines: hce export SITE | head -n N; or choose pages with --where")
	c.Text(&e.since, "since", "", "TIME", "only pages whose content has changed since then: a date (2026-01-31, 2026-01-31T12:00:00Z) or an age (12h, 7d)")
	c.Text(&e.fetchedSince, "fetched-since", "", "TIME", "only pages fetched since then, changed or not")
	c.Text(&e.where, "where", "", "SQL", "only URLs that fulfil this condition on the columns of docs/spec/objects.md 4.5, MySQL dialect")
	c.Flag(&e.all, "all", "", "all URLs, also failed and waiting ones")
	return c
}

// readJob reads the options.
func (e exportOptions) readJob(now time.Time) (export.Job, error) {
	if _, err := export.Find(e.format); err != nil && e.format != "" {
		return export.Job{}, command.Refuse("--format: %w", err)
	}
	if e.out == command.Standard {
		e.out = ""
	}
	format, err := export.Choose(e.format, e.out)
	if err != nil {
		return export.Job{}, command.Refuse("--out %w", err)
	}
	job := export.Job{Format: format, Out: e.out, Force: e.force, Settings: export.Settings{Fields: splitList(e.fields), Markdown: e.markdown, Raw: e.raw}}
	if err := export.CheckFields(job.Settings.Fields); err != nil {
		return job, command.Refuse("--fields: %w", err)
	}
	if err := e.checkFormat(job); err != nil {
		return job, err
	}
	where, err := e.pageCondition(format, now)
	job.Reader = pages.Reader{Where: where}
	job.Choice = fmt.Sprintf("all %t, noindex %t, since %q, fetched since %q, where %q", e.all, e.noindex, e.since, e.fetchedSince, e.where)
	if e.leavesOut(format) {
		job.Reader.Where += " AND " + export.Indexed
	}
	return job, err
}

// checkFormat refuses options that have no effect with the format.
func (e exportOptions) checkFormat(job export.Job) error {
	f := job.Format
	switch {
	case f.Folder && e.out == "":
		return command.Refuse("format %s writes a folder; give it with --out DIR", f.Name)
	case f.File && e.out == "":
		return command.Refuse("format %s does not write to a pipe; give a file with --out FILE", f.Name)
	case e.fields != "" && f.Default == nil:
		return command.Refuse("--fields is for jsonl, csv and parquet; format %s has its own", f.Name)
	case e.fields != "" && len(job.Settings.Fields) == 0:
		return command.Refuse("--fields %q has no field; see hce export --help", e.fields)
	case e.markdown && f.Default == nil:
		return command.Refuse("--markdown is for the field text of jsonl, csv and parquet, which format %s does not have; Markdown files are: --format md", f.Name)
	case e.markdown && !job.Settings.HasText(f):
		return command.Refuse("--markdown is for the field text, which is not among the fields; add it with --fields ...,text, or choose the field markdown")
	case e.noindex && f.Where == export.AsReceived:
		return command.Refuse("--noindex: an archive such as %s has the pages with noindex anyway; leave the option out, or leave these pages out with --where 'RobotsMask & 1 = 0'", f.Name)
	case e.raw && f.Name != "csv":
		return command.Refuse("--raw is for csv, whose cells a spreadsheet may run; format %s has all values as they are", f.Name)
	case e.force && e.out == "":
		return command.Refuse("--force is for --out: it replaces a file, or writes into a folder that has files")
	}
	return nil
}

// leavesOut reports whether pages that ask not to be indexed are left out.
func (e exportOptions) leavesOut(format export.Format) bool {
	return !e.all && !e.noindex && format.Where != export.AsReceived
}

// sayLeftOut tells how many pages of sites that fulfil a condition were left out because they ask not to be indexed.
func sayLeftOut(s *subcommand.Session, sites []string, where string) error {
	n := int64(0)
	for _, site := range sites {
		reader := pages.Reader{Service: s.Service, Site: site, Where: where + " AND NOT " + export.Indexed}
		if err := reader.Read(s.Ctx, "", func(*pages.Page) error { n++; return nil }, nil); err != nil {
			return err
		}
	}
	if n > 0 {
		s.PrintMessage("left out %s with noindex for robots; write them too with --noindex", plaintext.Count(n, "page", "pages"))
	}
	return nil
}

func splitList(text string) (list []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// pageCondition returns the condition of the pages.
func (e exportOptions) pageCondition(format export.Format, now time.Time) (string, error) {
	var parts []string
	switch {
	case e.all:
	case format.Where != "":
		parts = append(parts, format.Where)
	default:
		parts = append(parts, export.Fetched)
	}
	for _, o := range []struct {
		option, text string
		condition    func(since string) string
	}{
		{"--since", e.since, export.SinceWhere}, {"--fetched-since", e.fetchedSince, func(since string) string { return "`UDate`>='" + since + "'" }},
	} {
		if o.text == "" {
			continue
		}
		at, err := parseSince(o.option, o.text, now)
		if err != nil {
			return "", command.Refusal{Err: err}
		}
		parts = append(parts, o.condition(at.UTC().Format(time.DateTime)))
	}
	if e.where != "" {
		own, err := subcommand.WhereCondition(e.where)
		if err != nil {
			return "", err
		}
		parts = append(parts, own)
	}
	return strings.Join(parts, " AND "), nil
}

var age = regexp.MustCompile(`^(\d{1,6})([mhdw])$`)

// parseSince reads a date or an age.
func parseSince(option, text string, now time.Time) (time.Time, error) {
	if m := age.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // at most six digits
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
		return now.Add(-time.Duration(n) * unit), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q is not a date such as 2026-01-31 or an age such as 12h or 7d", option, text)
}

// abortUpload lets the store drop what interrupted exports to an object have sent.
func abortUpload(s *subcommand.Session, typed []string, e exportOptions) error {
	switch {
	case !objectstore.IsAddress(e.out):
		return command.Refuse("--abort-upload is for --out s3://BUCKET/KEY; the parts of other outputs are files that you can remove")
	case len(typed) > 0 || e.allSites:
		return command.Refuse("--abort-upload exports nothing; leave out the sites")
	}
	n, err := export.AbortUpload(s.Ctx, e.out)
	if err != nil {
		return refuseObject(err)
	}
	if s.JSON {
		return s.PrintJSON(map[string]any{"out": e.out, "aborted": n})
	}
	s.PrintMessage("dropped %s of %s", plaintext.Count(int64(n), "upload", "uploads"), e.out)
	return nil
}

// refuseObject makes the error of a store that a person has to remove a refusal.
func refuseObject(err error) error {
	var object *objectstore.Error
	if errors.As(err, &object) && object.IsRefusal() {
		return command.Refusal{Err: err}
	}
	return err
}

func exportPages(s *subcommand.Session, typed []string, e exportOptions) error {
	if e.abort {
		return abortUpload(s, typed, e)
	}
	job, err := e.readJob(time.Now())
	if err != nil {
		return err
	}
	switch {
	case s.JSON && job.Out == "" && job.Format.Name != "jsonl":
		return command.Refuse("--json prints the result of --out; without it stdout has the pages in format %s", job.Format.Name)
	case len(typed) == 0 && !e.allSites:
		return command.Refuse("argument SITE... is missing; name sites, or take all of them with --all-sites")
	case len(typed) > 0 && e.allSites:
		return command.Refuse("--all-sites takes all sites; leave out the option, or %s", strings.Join(typed, " "))
	}
	if err := s.OpenService(); err != nil {
		return err
	}
	sites, err := exportedSites(s, typed)
	if err != nil {
		return err
	}
	return writePages(s, e, job, sites)
}

// exportedSites returns the sites that are named, or all.
func exportedSites(s *subcommand.Session, typed []string) ([]wire.Site, error) {
	if len(typed) == 0 {
		return s.ListSites("filters", "properties")
	}
	var sites []wire.Site
	for _, name := range typed {
		site, err := s.FindSite(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sites, func(other wire.Site) bool { return other.ID == site.ID }) {
			return nil, command.Refuse("%q is the site %s, which is given twice", name, site.ID)
		}
		sites = append(sites, site)
	}
	return sites, nil
}

// writePages runs an export of sites, and says how it has ended.
func writePages(s *subcommand.Session, e exportOptions, job export.Job, sites []wire.Site) error {
	known, damage := int64(0), map[string]int64{}
	for _, site := range sites {
		job.Sites = append(job.Sites, site.ID)
		known += site.CollectedURLs + int64(len(site.URLs))
	}
	job.Reader.Service, job.Stdout = s.Service, s.Out
	job.Reader.Damaged = func(row *wire.URL, err error) {
		damage[row.SiteID]++
		s.SayDamaged(row, err)
	}
	n, err := export.Run(s.Ctx, job, exportProgress(s, known))
	var damaged *export.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return refuseObject(err)
	}
	if e.leavesOut(job.Format) {
		if err := sayLeftOut(s, job.Sites, strings.TrimSuffix(job.Reader.Where, " AND "+export.Indexed)); err != nil {
			return err
		}
	}
	switch {
	case s.JSON && job.Out != "":
		object := map[string]any{"site": strings.Join(job.Sites, ","), "pages": n, "out": job.Out, "format": job.Format.Name}
		if damaged != nil {
			object["damaged"] = damaged.Pages
		}
		if err := s.PrintJSON(object); err != nil {
			return err
		}
	case job.Out != "":
		s.PrintMessage("wrote %s to %s%s", plaintext.Count(n, "page", "pages"), job.Out, e.asFormat(job.Format))
	}
	if damaged == nil {
		return nil
	}
	s.PrintMessage("%s left out because of damage", plaintext.Count(damaged.Pages, "page was", "pages were"))
	for _, site := range slices.Sorted(maps.Keys(damage)) {
		s.PrintMessage("make the damaged pages of site %s again with: %s", site, mendCommand(s, site))
	}
	return command.ErrWithErrors
}

// asFormat names a format that was neither given nor has a name of its own in --out.
func (e exportOptions) asFormat(f export.Format) string {
	if e.format != "" || !f.Folder {
		return ""
	}
	return " as " + f.Name + " (as received: --format files)"
}

// mendCommand returns what a person types to get damaged pages of a site back.
func mendCommand(s *subcommand.Session, site string) string {
	if s.Node == nil {
		return "db-task --repair on the machine of the daemon, while the daemon is stopped"
	}
	return s.CommandHint("repair") + "; then: " + s.CommandHint("crawl", site)
}

// exportProgress shows the number of pages on a terminal.
func exportProgress(s *subcommand.Session, known int64) func(int64) {
	file, ok := s.Talk.(*os.File)
	if !ok || livescreen.Width(file) == 0 {
		return nil
	}
	last := time.Now()
	return func(n int64) {
		if time.Since(last) >= pollEvery {
			last = time.Now()
			fmt.Fprintf(s.Talk, "\r%d pages of %d URLs\x1b[K\r", n, known)
		}
	}
}
