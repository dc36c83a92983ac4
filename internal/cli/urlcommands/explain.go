package urlcommands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/cli/target"
)

func ExplainCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	var e explanation
	c := p.NewLeaf(command.Text{
		Name: "explain", Summary: "shows what crawling and processing decide about a URL, and why",
		Description: `Prints the decisions of crawler-task --explain: canonical form, site, filters, robots.txt, pause,
and whether the URL is due. For a crawled page, those of processor-task --explain follow as
"processing": filters, processor, the scores of templates and extractors, the source of the date,
errors. Nothing is stored. It runs on the machine of the data: in the folder
of hce, or with the crawler-task.ini of the daemon.`,
		Examples: `  hce explain https://example.org/a
  hce explain http://127.0.0.1:8080/a --allow-network 127.0.0.0/8
  hce explain https://example.org/a --ini /etc/dc-daemon/crawler-task.ini`,
	}, &o, func(s *subcommand.Session) error { return explainURL(s, words[0], e) })
	c.Words(&words, "URL", 1, 1)
	c.Text(&e.site, "site", "", "SITE", "treat the URL as a page of this site; default: the site whose root URL is a prefix of the URL")
	c.Text(&o.Ini, "ini", "", "FILE", "crawler-task.ini of the daemon; default: that of the folder of hce, or one next to --config, in this folder or in /etc/dc-daemon")
	c.Flag(&e.fetch, "fetch", "", "send the request too and show the result")
	subcommand.DeclareNetworks(c, &o.Networks)
	return c
}

// explanation is the options of hce explain alone.
type explanation struct {
	site  string
	fetch bool
}

// findCrawlerIni reports whether there is a crawler-task.ini without --ini, for a daemon of this machine: next to the file of
// --config, in the current folder or as the package installs it.
func findCrawlerIni(s *subcommand.Session) bool {
	if s.Ini != "" {
		return true
	}
	if ip := net.ParseIP(s.Clients.Host); s.Clients.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return false
	}
	const name = "crawler-task.ini"
	tried := []string{name, filepath.Join("/etc/dc-daemon", name)}
	if s.Config != "" {
		tried = []string{filepath.Join(filepath.Dir(s.Config), name)}
	}
	for _, path := range tried {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			s.PrintMessage("as %s decides it; --ini FILE takes another one", path)
			s.Ini = path
			return true
		}
	}
	return false
}

// explainTask runs a task program with --explain and args, and with input as its stdin; nil: none.
func explainTask(s *subcommand.Session, input io.Reader, program string, args ...string) ([]byte, error) {
	return node.Explain(s.Ctx, s.Node, node.Options{AllowNetworks: s.Networks}, s.Ini, input, program, args...)
}

func explainURL(s *subcommand.Session, typed string, e explanation) error {
	u, err := target.Parse(typed)
	if err != nil {
		return command.Refusal{Err: err}
	}
	if err := command.CheckNetworks(s.Networks); err != nil {
		return err
	}
	args := []string{"--explain", u.Text}
	if e.fetch {
		args = append(args, "--fetch")
	}
	if s.Ini == "" {
		at, err := s.FindPlace()
		if err != nil {
			return err
		}
		if at.Server != nil {
			s.Clients = *at.Server
		}
		if at.Server != nil && !findCrawlerIni(s) {
			return command.Refuse("a daemon runs at %s:%d; give its crawler-task.ini with --ini, or a folder of hce with --data", at.Server.Host, at.Server.Port)
		}
		if at.Server == nil {
			if !datafolder.Exists(at.Dir) {
				return command.Refuse("%s", s.NoDataMessage(at))
			}
			if err := s.OpenFolder(at.Dir); err != nil {
				return err
			}
		}
	}
	if s.Ini != "" && s.Networks != "" {
		return command.Refuse("--allow-network is for a folder of hce; set AllowedNetworks in %s", s.Ini)
	}
	if e.site != "" {
		if s.Service != nil {
			found, err := s.FindSite(e.site)
			if err != nil {
				return err
			}
			e.site = found.ID
		}
		args = append(args, "--site", e.site)
	}
	text, err := explainTask(s, nil, "crawler-task", args...)
	if err != nil {
		return err
	}
	if text, err = withProcessing(s, text, u.Text); err != nil {
		return err
	}
	if s.JSON {
		_, err := s.Out.Write(text)
		return err
	}
	var answer map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // masks in full
	if err := d.Decode(&answer); err != nil {
		return fmt.Errorf("read the answers of crawler-task and processor-task: %w", err)
	}
	printExplained(s.Out, answer)
	return nil
}

// withProcessing adds the decisions of processor-task to those of crawler-task, if the page is crawled.
func withProcessing(s *subcommand.Session, text []byte, url string) ([]byte, error) {
	var known struct {
		Site *struct{ ID string }
		Row  *struct{ Crawled int64 }
	}
	answer := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(text, &known), json.Unmarshal(text, &answer)); err != nil {
		return nil, fmt.Errorf("read the answer of crawler-task: %w", err)
	}
	if known.Site == nil || known.Row == nil || known.Row.Crawled == 0 {
		return text, nil
	}
	processing, err := explainTask(s, nil, "processor-task", "--explain", url, "--site", known.Site.ID)
	if err != nil {
		return nil, err
	}
	answer["processing"] = processing
	var out bytes.Buffer
	err = command.PrintJSON(&out, answer)
	return out.Bytes(), err
}

// printExplained prints the verdict and the reasons first, then everything else as a tree.
func printExplained(w io.Writer, answer map[string]any) {
	fmt.Fprintf(w, "%v\n", answer["canonical"])
	verdict := "is not due"
	if answer["due"] == true {
		verdict = "is due"
	}
	fmt.Fprintf(w, "%s\n", verdict)
	if reasons, ok := answer["reasons"].([]any); ok {
		for _, reason := range reasons {
			fmt.Fprintf(w, "  %s\n", plaintext.Clean(fmt.Sprint(reason)))
		}
	}
	for _, name := range []string{"url", "canonical", "due", "reasons"} {
		delete(answer, name)
	}
	printTree(w, answer, 0)
}

// printTree prints an object with one value on each line. Empty values are left out.
func printTree(w io.Writer, value map[string]any, depth int) {
	pad := strings.Repeat("  ", depth)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		switch v := value[name].(type) {
		case nil:
		case map[string]any:
			fmt.Fprintf(w, "%s%s\n", pad, name)
			printTree(w, v, depth+1)
		case []any:
			printList(w, name, v, depth)
		default:
			if text := plaintext.Clean(fmt.Sprint(v)); text != "" {
				fmt.Fprintf(w, "%s%s: %s\n", pad, name, text)
			}
		}
	}
}

func printList(w io.Writer, name string, list []any, depth int) {
	for _, element := range list {
		if object, ok := element.(map[string]any); ok {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat("  ", depth), name)
			printTree(w, object, depth+1)
			continue
		}
		fmt.Fprintf(w, "%s%s: %s\n", strings.Repeat("  ", depth), name, plaintext.Clean(fmt.Sprint(element)))
	}
}

// Explain returns what crawling decides about a URL, as JSON; site is its id, or empty.
func Explain(s *subcommand.Session, typed, site string) (json.RawMessage, error) {
	u, err := target.Parse(typed)
	if err != nil {
		return nil, err
	}
	if s.Node == nil && !findCrawlerIni(s) {
		return nil, command.Refuse("a daemon runs at %s:%d; give its crawler-task.ini with --ini", s.Clients.Host, s.Clients.Port)
	}
	args := []string{"--explain", u.Text}
	if site != "" {
		args = append(args, "--site", site)
	}
	return explainTask(s, nil, "crawler-task", args...)
}
