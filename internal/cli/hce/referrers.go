package hce

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/referrers"
	"hce/dc/internal/wire"
)

// referrersOf returns the links to URLs, from all stored pages of the site.
func (s *session) referrersOf(site string, urls []wire.URL) (map[string][]referrers.Referrer, error) {
	found := make(map[string][]referrers.Referrer, len(urls))
	for _, u := range urls {
		found[u.URL] = []referrers.Referrer{}
	}
	err := referrers.Read(s.ctx, s.service, site, func(to string, from referrers.Referrer) error {
		if list, wanted := found[to]; wanted {
			found[to] = append(list, from)
		}
		return nil
	})
	return found, err
}

// showReferrer prints a link.
func (s *session) showReferrer(r referrers.Referrer) {
	text := r.Element
	if r.Text != "" {
		text += fmt.Sprintf(" %q", clean(r.Text))
	}
	s.line("linked by", "%s %s", clean(r.URL), text)
}

// withReferrers adds the member referrers to a JSON object.
func withReferrers(object any, list []referrers.Referrer) (map[string]any, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	all["referrers"] = list
	return all, nil
}

// outsideAtOnce is the number of links that are looked up together.
const outsideAtOnce = 200

// outsideLs lists link targets that are no URLs of the site: other hosts, and what filters, robots.txt
// and limits left out. Each is listed once, with the first page that links to it.
func (s *session) outsideLs(site string, limit int64) error {
	seen := map[string]bool{}
	waiting := map[string]referrers.Referrer{}
	var order []string
	n := int64(0)
	flush := func() error {
		var queries []pages.Query
		for _, to := range order {
			queries = append(queries, pages.Query{Site: site, Where: "`URLMd5`='" + wire.KeyOfURL(to) + "'", Most: 1})
		}
		rows, err := pages.RowsOf(s.ctx, s.service, queries)
		if err != nil {
			return err
		}
		for _, row := range rows {
			delete(waiting, row.URL)
		}
		for _, to := range order {
			from, outside := waiting[to]
			if !outside {
				continue
			}
			if limit > 0 && n == limit {
				return errEnough
			}
			n++
			if err := s.outsideLine(to, from); err != nil {
				return err
			}
		}
		clear(waiting)
		order = order[:0]
		return nil
	}
	err := referrers.Read(s.ctx, s.service, site, func(to string, from referrers.Referrer) error {
		key := wire.KeyOfURL(to)
		if seen[key] {
			return nil
		}
		seen[key] = true
		waiting[to], order = from, append(order, to)
		if len(order) < outsideAtOnce {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return err
}

func (s *session) outsideLine(to string, from referrers.Referrer) error {
	if s.json {
		raw, err := json.Marshal(map[string]any{"url": to, "referrers": []referrers.Referrer{from}})
		if err == nil {
			_, err = fmt.Fprintln(s.out, string(raw))
		}
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s  %s of %s\n", clean(to), from.Element, clean(from.URL))
	return err
}
