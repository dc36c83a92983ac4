package urlcommands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/referrers"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
)

// referrersOf returns the links to URLs by their keys, from all stored pages of the site.
func referrersOf(s *subcommand.Session, site string, urls []wire.URL) (map[string][]referrers.Referrer, error) {
	found := make(map[string][]referrers.Referrer, len(urls))
	for _, u := range urls {
		found[u.URLMd5] = []referrers.Referrer{}
	}
	err := referrers.Read(s.Ctx, pages.Reader{Service: s.Service, Site: site, Damaged: s.SayDamaged}, func(to string, from referrers.Referrer) error {
		key := urlkey.Of(to)
		if list, wanted := found[key]; wanted {
			found[key] = append(list, from)
		}
		return nil
	})
	return found, err
}

// showReferrer prints a link.
func showReferrer(s *subcommand.Session, r referrers.Referrer) {
	text := r.Element
	if r.Text != "" {
		text += fmt.Sprintf(" %q", plaintext.Clean(r.Text))
	}
	s.PrintNamed("linked by", "%s %s", plaintext.Clean(r.URL), text)
}

// withMembers adds members to a JSON object.
func withMembers(object any, members map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, members)
	return all, nil
}

// outsideAtOnce is the number of links that are looked up together.
const outsideAtOnce = 200

// outsideLink is a link to a URL that is no URL of the site, of the page that is least deep and follows links.
type outsideLink struct {
	to   string
	from referrers.Referrer
}

// outsideLs lists link targets that are no URLs of the site: other hosts, and what filters, robots.txt
// and limits left out. Each is listed once, with one page that links to it.
func outsideLs(s *subcommand.Session, ls urlLs, site string, limit int64) error {
	at := map[string]int{} // by key
	var list []outsideLink
	err := referrers.Read(s.Ctx, pages.Reader{Service: s.Service, Site: site, Damaged: s.SayDamaged}, func(to string, from referrers.Referrer) error {
		key := urlkey.Of(to)
		i, known := at[key]
		if !known {
			at[key] = len(list)
			list = append(list, outsideLink{to, from})
		} else if old := list[i].from.Row; isNearer(from.Row, old) {
			list[i].from = from
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := int64(0)
	for part := range slices.Chunk(list, outsideAtOnce) {
		if part, err = unknownOf(s, site, part); err != nil {
			return err
		}
		more := limit > 0 && n+int64(len(part)) > limit
		if more {
			part = part[:limit-n]
		}
		n += int64(len(part))
		if err := outsideLines(s, ls, site, part); err != nil {
			return err
		}
		if more {
			s.PrintMessage("only the first %d; see more with --limit", limit)
			return nil
		}
	}
	return nil
}

// isNearer reports whether the links of page a become URLs rather than those of b.
func isNearer(a, b *wire.URL) bool {
	if x, y := a.RobotsMask&wire.RobotsNoFollow, b.RobotsMask&wire.RobotsNoFollow; x != y {
		return x == 0
	}
	return a.Depth < b.Depth
}

// unknownOf returns the links to URLs without a row.
func unknownOf(s *subcommand.Session, site string, list []outsideLink) (unknown []outsideLink, err error) {
	keys := make([]string, len(list))
	for i, l := range list {
		keys[i] = "'" + urlkey.Of(l.to) + "'"
	}
	rows, err := pages.Rows(s.Ctx, s.Service, site, "`URLMd5` IN ("+strings.Join(keys, ",")+")", "", len(keys))
	known := map[string]bool{}
	for _, row := range rows {
		known[row.URLMd5] = true
	}
	for _, l := range list {
		if !known[urlkey.Of(l.to)] {
			unknown = append(unknown, l)
		}
	}
	return unknown, err
}

func outsideLines(s *subcommand.Session, ls urlLs, site string, list []outsideLink) error {
	why := make([][]string, len(list))
	if ls.reasons {
		asked := make([]string, len(list))
		for i, l := range list {
			asked[i] = fmt.Sprint(l.from.Row.Depth, " ", l.to)
		}
		var err error
		if why, err = reasonsOf(s, site, asked); err != nil {
			return err
		}
	}
	for i, l := range list {
		if ls.reasons && l.from.Row.RobotsMask&wire.RobotsNoFollow != 0 {
			why[i] = append(why[i], "its page asks robots not to follow links (nofollow)")
		}
		if ls.reasons && l.from.Row.ErrorMask&errormask.MaxURLsFromPage != 0 {
			why[i] = append(why[i], "its page has more links than a limit allows (MAX_URLS_FROM_PAGE)")
		}
		if s.JSON {
			object := map[string]any{"url": l.to, "referrers": []referrers.Referrer{l.from}}
			if ls.reasons {
				object["reasons"] = why[i]
			}
			raw, err := json.Marshal(object)
			if err == nil {
				_, err = fmt.Fprintln(s.Out, string(raw))
			}
			if err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(s.Out, "%s  %s of %s\n", plaintext.Clean(l.to), l.from.Element, plaintext.Clean(l.from.URL)); err != nil {
			return err
		}
		showReasons(s, why[i])
	}
	return nil
}

func showReasons(s *subcommand.Session, why []string) {
	for _, reason := range why {
		s.PrintNamed("reason", "%s", plaintext.Clean(reason))
	}
}

// reasonsOf asks the crawler why each link of a list, with the depth of its page before it, is no URL of the site or is
// not requested; for another URL, why it is due or not.
func reasonsOf(s *subcommand.Session, site string, asked []string) ([][]string, error) {
	if s.Node == nil && !findCrawlerIni(s) {
		return nil, command.Refuse("--reasons works on the machine of the data: give the crawler-task.ini of the daemon with --ini, or a folder of hce with --data")
	}
	text, err := explainTask(s, strings.NewReader(strings.Join(asked, "\n")+"\n"), "crawler-task", "--explain", "-", "--site", site)
	if err != nil {
		return nil, err
	}
	var list [][]string
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var answer struct{ Refused, Reasons []string }
		if err := d.Decode(&answer); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the answer of crawler-task: %w", err)
		}
		if len(answer.Refused) == 0 {
			answer.Refused = answer.Reasons
		}
		list = append(list, answer.Refused)
	}
	if len(list) != len(asked) {
		return nil, fmt.Errorf("crawler-task explained %d of %d URLs", len(list), len(asked))
	}
	return list, nil
}
