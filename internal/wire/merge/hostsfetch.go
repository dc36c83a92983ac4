package merge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Fetch merges the rows that nodes selected for one element of URL_FETCH. Each node must have
// got the element with Offset 0 and Offset+Count rows as its LIMIT.
type Fetch struct {
	Sites         []string // in the order of the answer; other sites follow
	OrderBy       string   // as in the request, checked by CheckOrder
	Offset, Count int64    // the LIMIT of each site
	Limited       bool     // there is a LIMIT
	MaxURLs       int64    // of all sites; 0: no limit
	Proportional  bool     // algorithm 1: the sites share MaxURLs (docs/spec/storage.md 4.10)
}

// Row is a selected row.
type Row struct {
	Node string
	wire.URL
	Raw json.RawMessage // as the node sent it

	keys []any
}

// CheckOrder refuses an ORDER BY that cannot be computed from rows of several nodes: it may have
// columns of the URL and LENGTH of a column, each with ASC or DESC.
func CheckOrder(text string) error {
	_, err := readKeys(text)
	return err
}

// Merge returns the rows as one machine with the rows of all nodes selects them. Rows that are
// equal in OrderBy are in the order of their URLMd5.
func (f Fetch) Merge(answers []Answer) ([]Row, error) {
	keys, err := readKeys(f.OrderBy)
	if err != nil {
		return nil, err
	}
	var order []string
	for _, site := range f.Sites {
		if !slices.Contains(order, site) {
			order = append(order, site)
		}
	}
	bySite := map[string][]Row{}
	for _, a := range answers {
		var list []json.RawMessage
		if err := json.Unmarshal(a.Object, &list); err != nil {
			return nil, fmt.Errorf("node %s did not answer with a list of URLs: %w", a.Node, err)
		}
		for _, raw := range list {
			row := Row{Node: a.Node, Raw: raw}
			if err := json.Unmarshal(raw, &row.URL); err != nil {
				return nil, fmt.Errorf("node %s answered with an invalid URL: %w", a.Node, err)
			}
			row.keys = keys.keysOf(&row.URL)
			if !slices.Contains(order, row.SiteID) {
				order = append(order, row.SiteID)
			}
			bySite[row.SiteID] = append(bySite[row.SiteID], row)
		}
	}
	var lists [][]Row
	for _, site := range order {
		rows := bySite[site]
		slices.SortStableFunc(rows, keys.compareRows)
		lists = append(lists, slices.CompactFunc(rows, func(a, b Row) bool { return a.URLMd5 == b.URLMd5 }))
	}
	if f.Proportional && f.MaxURLs > 0 {
		return f.takeShares(lists), nil
	}
	return f.siteAfterSite(lists), nil
}

// siteAfterSite applies LIMIT to each site and MaxURLs to all.
func (f Fetch) siteAfterSite(lists [][]Row) []Row {
	all := []Row{}
	for _, rows := range lists {
		if f.Limited {
			from := min(f.Offset, int64(len(rows)))
			rows = rows[from:min(from+f.Count, int64(len(rows)))]
		}
		all = append(all, rows...)
	}
	if f.MaxURLs > 0 {
		all = all[:min(f.MaxURLs, int64(len(all)))]
	}
	return all
}

// takeShares takes an equal share of MaxURLs of each site, in rounds. LIMIT does not apply.
func (f Fetch) takeShares(lists [][]Row) []Row {
	all := []Row{}
	share := max(f.MaxURLs/int64(max(len(lists), 1)), 1)
	for len(lists) > 0 {
		var again [][]Row
		for _, rows := range lists {
			n := min(share, int64(len(rows)), f.MaxURLs-int64(len(all)))
			all = append(all, rows[:n]...)
			if n == share {
				again = append(again, rows[n:])
			}
		}
		lists = again
		if int64(len(all)) >= f.MaxURLs {
			break
		}
	}
	return all
}

// sortKeys are the items of an ORDER BY.
type sortKeys []sortKey

type sortKey struct {
	column     string
	length     bool // LENGTH(column)
	descending bool
}

func readKeys(text string) (sortKeys, error) {
	var keys sortKeys
	for item := range strings.SplitSeq(text, ",") {
		words := strings.Fields(item)
		if len(words) == 0 && strings.TrimSpace(text) == "" {
			return nil, nil
		}
		var k sortKey
		if len(words) == 2 {
			k.descending = strings.EqualFold(words[1], "DESC")
		}
		bad := len(words) == 0 || len(words) > 2 || len(words) == 2 && !k.descending && !strings.EqualFold(words[1], "ASC")
		if !bad {
			name := words[0]
			if inner, ok := strings.CutSuffix(name, ")"); ok && len(inner) > 7 && strings.EqualFold(inner[:7], "LENGTH(") {
				k.length, name = true, inner[7:]
			}
			k.column = columnName(name)
		}
		if bad || k.column == "" {
			return nil, fmt.Errorf("ORDER BY %.100q cannot be computed over several nodes; use columns of the URL, or LENGTH of one, with ASC or DESC", text)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// columnName returns the column of a name with or without its table, or "".
func columnName(name string) string {
	parts := strings.Split(name, ".")
	name = strings.Trim(parts[len(parts)-1], "`")
	for _, c := range wire.URLColumns {
		if strings.EqualFold(c.Name, name) {
			return c.Name
		}
	}
	return ""
}

// keysOf returns the sort keys of a row: nil, int64, float64 or string.
func (keys sortKeys) keysOf(u *wire.URL) []any {
	values := schema.PatchOf(u, wire.URLColumns)
	list := make([]any, 0, len(keys))
	for _, k := range keys {
		v := values[k.column]
		if text, ok := v.(string); ok && k.length {
			v = int64(len(text))
		}
		list = append(list, v)
	}
	return list
}

func (keys sortKeys) compareRows(a, b Row) int {
	for i, k := range keys {
		c := compareCells(a.keys[i], b.keys[i])
		if k.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(a.URLMd5, b.URLMd5)
}

// compareCells compares as the databases do: NULL first, texts without regard to case and to
// spaces at their end.
func compareCells(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(boolToInt(a != nil), boolToInt(b != nil))
	}
	if x, ok := a.(string); ok {
		y, _ := b.(string)
		return cmp.Compare(foldText(x), foldText(y))
	}
	return cmp.Compare(numberOf(a), numberOf(b))
}

func foldText(s string) string { return strings.ToUpper(strings.TrimRight(s, " ")) }

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func numberOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
