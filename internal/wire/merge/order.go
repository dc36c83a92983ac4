package merge

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// order is the first item of the ORDER BY of a request. The zero value does not sort.
type order struct {
	column     string // "" without an ORDER BY
	descending bool
}

// orderOf reads the ORDER BY of the first element of a request: in urlsCriterions of
// URL_FETCH, in urlFetch.urlsCriterions of URL_CONTENT. It returns the zero order for
// other operations and invalid requests.
func orderOf(op wire.Op, request json.RawMessage) order {
	if op != wire.URLFetch && op != wire.URLContent {
		return order{}
	}
	if list, ok := readList(request); ok && len(list) > 0 {
		request = list[0]
	}
	element, _ := readObject(request)
	if op == wire.URLContent {
		element, _ = readObject(element["urlFetch"])
	}
	criterions, _ := readObject(element["urlsCriterions"])
	return readOrder(criterions.textOrEmpty("ORDER BY"))
}

// readOrder reads the first item of an ORDER BY: a column, quoted or not. Any second word
// except ASC means descending.
func readOrder(text string) order {
	words := strings.Fields(firstItem(text))
	if len(words) == 0 {
		return order{}
	}
	return order{
		column:     strings.Trim(words[0], "`"),
		descending: len(words) > 1 && words[1] != "ASC",
	}
}

// firstItem cuts an SQL list at its first comma outside of parentheses.
func firstItem(text string) string {
	depth := 0
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth <= 0:
			return text[:i]
		}
	}
	return text
}

// rank is a sort key.
type rank struct {
	number int64
	text   string
}

// unknown is the rank of elements without a sort key. It is the smallest.
var unknown = rank{number: math.MinInt64}

func (r rank) compareTo(other rank) int {
	return cmp.Or(cmp.Compare(r.number, other.number), cmp.Compare(r.text, other.text))
}

// urlFields maps the columns that answers can be sorted by to fields of URL.
var urlFields = map[string]string{
	"PDate": "pDate", "CDate": "CDate", "UDate": "UDate", "TcDate": "tcDate",
	"Size": "size", "Depth": "depth", "TagsCount": "tagsCount", "ContentURLMd5": "contentURLMd5",
}

// ofURL returns the sort key of a URL.
func (by order) ofURL(o object) rank { return by.rankValue(o, cmp.Or(urlFields[by.column], "CDate")) }

// ofContent returns the sort key of a URLContentResponse, from its dbFields.
func (by order) ofContent(o object) rank {
	fields := dbFieldsOf(o)
	switch _, ok := urlFields[by.column]; {
	case !ok:
		return by.rankValue(fields, "CDate")
	case by.column == "ContentURLMd5" && isNull(fields[by.column]):
		return by.rankValue(o, "contentURLMd5") // dbFields need not have it
	}
	return by.rankValue(fields, by.column)
}

// rankValue reads one field as a time, a whole number or a text, according to by.column.
func (by order) rankValue(o object, field string) rank {
	switch by.column {
	case "PDate", "CDate", "UDate", "TcDate":
		if t, ok := o.dateValue(field); ok {
			return rank{number: t.UnixMicro()}
		}
	case "Size", "Depth", "TagsCount":
		if n, ok := schema.ReadInt(o[field]); ok {
			return rank{number: n}
		}
	default:
		if s := o.textOrEmpty(field); s != "" && s != "None" {
			return rank{text: s}
		}
	}
	return unknown
}

// sortByRank sorts a list by the ranks of its objects. It is stable. Elements that are not
// objects are the smallest.
func (by order) sortByRank(list []element, rankOf func(object) rank) {
	if by.column == "" {
		return
	}
	for i, el := range list {
		list[i].rank = unknown
		if el.object != nil {
			list[i].rank = rankOf(el.object)
		}
	}
	slices.SortStableFunc(list, func(a, b element) int {
		if by.descending {
			a, b = b, a
		}
		return a.rank.compareTo(b.rank)
	})
}
