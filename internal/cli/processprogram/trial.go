package processprogram

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/process"
	"hce/dc/internal/process/template"
	"hce/dc/internal/wire"
)

// trial is the options that go with --try-template.
type trial struct {
	pages []string
	url   string
	json  bool
}

// withProblems is the exit status of a trial whose report names problems.
const withProblems taskprogram.Status = 2

func (t *trial) newCommand() taskprogram.Command {
	return taskprogram.Command{
		Option: "try-template", Value: "FILE", Help: "apply the templates of FILE to PAGE, a URL, an HTML file or - for stdin, and print what each rule found",
		More: func(c *command.Command) {
			c.Text(&t.url, "url", "", "URL", "with --try-template: the URL of the page, for conditions and links; default: PAGE, if it is a URL")
			c.Flag(&t.json, "json", "", "with --try-template: print the report as JSON")
			c.Words(&t.pages, "[PAGE]", 0, 1)
		},
		Run: t.runTrial,
	}
}

// refuseOptions refuses the options of a trial without --try-template.
func (t *trial) refuseOptions() error {
	if len(t.pages) > 0 || t.url != "" || t.json {
		return errors.New("PAGE, --url and --json go with --try-template FILE")
	}
	return nil
}

func (t *trial) runTrial(ctx context.Context, f *config.File, _ config.Application, _ *slog.Logger, file string) error {
	s := f.Section("ProcessorTask")
	workers := &process.Workers{Budget: readBudget(s)}
	most, networks := readMaxSize(s), readNetworks(s)
	if err := f.Err(); err != nil {
		return err
	}
	defer workers.Close()
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	job, err := process.NewTrial(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	job.URL, job.Now = t.url, time.Now().UTC()
	switch {
	case len(t.pages) == 0:
		return errors.New("--try-template needs a page: a URL, an HTML file, or - for stdin")
	case strings.Contains(t.pages[0], "://"):
		err = requestPage(ctx, job, t.pages[0], most, networks)
	default:
		job.Page, err = readFileOrStdin(t.pages[0], most)
	}
	if err != nil {
		return err
	}
	report, err := workers.Try(job)
	if err != nil {
		return err
	}
	return t.printReport(&report)
}

// readFileOrStdin reads at most most bytes of a file, or of stdin if its name is "-".
func readFileOrStdin(name string, most int64) ([]byte, error) {
	in := os.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, most))
}

// mostRedirects bounds the redirects of a request.
const mostRedirects = 10

// requestPage sets the page of a trial to the answer of a server. The egress guard permits public
// addresses and networks.
func requestPage(ctx context.Context, job *process.Trial, url string, most int64, networks []netip.Prefix) error {
	client := fetch.New(fetch.Config{AllowedNetworks: networks, MaxBytes: most})
	defer client.Close()
	response, err := client.Get(ctx, fetch.Request{URL: url, MaxRedirects: mostRedirects})
	switch fetch.KindOf(err) {
	case fetch.None:
	case fetch.Guard:
		return fmt.Errorf("%w; to allow it, name its network in AllowedNetworks of processor-task.ini, or in DC_ProcessorTask_AllowedNetworks", err)
	case fetch.TooLarge:
		return fmt.Errorf("%w; max_content_size of processor-task.ini is %d bytes", err, most)
	default:
		return fmt.Errorf("%w; if a browser can show the page, save it to a file and give its URL as --url", err)
	}
	if !wire.IsPageCode(int64(response.Code)) {
		return fmt.Errorf("fetch %q: the server answered with code %d; expected a page: 200 to 203 or 300", url, response.Code)
	}
	job.URL, job.Base = cmp.Or(job.URL, url), response.FinalURL
	job.Page, job.Type = response.Body, cmp.Or(response.Header.Get("Content-Type"), job.Type)
	return nil
}

// printReport prints the report and returns its exit status.
func (t *trial) printReport(r *process.TrialReport) error {
	out := bufio.NewWriter(os.Stdout)
	if t.json {
		if err := command.PrintJSON(out, r); err != nil {
			return err
		}
	} else {
		printTable(out, r)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(r.ErrorNames) > 0 || r.Chosen < 0 {
		return withProblems
	}
	return nil
}

// printTable prints a report for a person.
func printTable(out io.Writer, r *process.TrialReport) {
	for i, one := range r.Templates {
		switch {
		case !one.Applied:
			fmt.Fprintf(out, "template %s: not applied: %s\n", one.Name, one.Reason)
			continue
		case i == r.Chosen:
			fmt.Fprintf(out, "template %s: %d tags, chosen by select = %s\n", one.Name, one.TagsCount, r.Select)
		default:
			fmt.Fprintf(out, "template %s: %d tags, not chosen\n", one.Name, one.TagsCount)
		}
		printRules(out, "  ", one.Trace.Tags, one.Trace.Items > 0)
		printItems(out, &one)
	}
	if r.Chosen < 0 {
		fmt.Fprintln(out, "no template applies to the page")
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "problem: %s\n", p)
	}
	for _, key := range r.Unknown {
		fmt.Fprintf(out, "ignored: %s has no meaning\n", key)
	}
	if len(r.ErrorNames) > 0 {
		fmt.Fprintf(out, "error bits: %s\n", strings.Join(r.ErrorNames, ", "))
	}
}

// printRules prints what the rules of tags found. The values of tags of items, and of the objects of a list,
// are in their rules.
func printRules(out io.Writer, indent string, tags []template.TagTrace, inParts bool) {
	for _, tag := range tags {
		value := oneLine(tag.Value)
		switch {
		case tag.Default:
			value += "  (default)"
		case value == "" && !inParts:
			value = "(no value)"
		}
		fmt.Fprintln(out, indent+strings.TrimRight(fmt.Sprintf("%-18s %s", tag.Name, value), " "))
		for k, rule := range tag.Rules {
			fmt.Fprintf(out, "%s  rule %d  %s %s, %s: %d matches, %s\n", indent, k+1, rule.Type, rule.Target, rule.Join, rule.Matches, rule.Outcome)
			if rule.Remark != "" {
				fmt.Fprintf(out, "%s          %s\n", indent, rule.Remark)
			}
			if rule.Post != nil {
				fmt.Fprintf(out, "%s          postProcessing made %q of %q\n", indent, oneLine(*rule.Post), oneLine(rule.Found))
			}
			printRules(out, indent+"          ", rule.Fields, true)
		}
	}
}

// printItems prints the items of a page, and what was dropped.
func printItems(out io.Writer, one *process.TriedTemplate) {
	if one.Trace.Container != "" {
		fmt.Fprintf(out, "  items are the children of %s\n", one.Trace.Container)
	}
	for _, note := range one.Trace.Notes {
		fmt.Fprintf(out, "  %s\n", note)
	}
	if one.Trace.Items == 0 {
		return
	}
	for i, tags := range one.Results {
		fmt.Fprintf(out, "  item %d\n", i+1)
		for _, name := range slices.Sorted(maps.Keys(tags)) {
			fmt.Fprintf(out, "    %-18s %s\n", name, oneLine(tags[name]))
		}
	}
}

// maxShown bounds a value in the table, in characters.
const maxShown = 120

func oneLine(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if runes := []rune(value); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return value
}
