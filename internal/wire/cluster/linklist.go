package cluster

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/wire/urlkey"
)

// LinkList is a list of links that are much alike. Its JSON is
//
//	{"same":[{"siteId":"s","url":"http://h/a","status":1,"depth":2,...},{"url":"http://h/b"},...]}
//
// An element has the strings and numbers that differ from those of the element before it; before the first
// one all are zero. Other fields have their own values, or are left out if they are empty. urlMd5 is left
// out if it is that of url. An array of LinkOut is read too.
type LinkList []LinkOut

// linkField is a field of LinkOut.
type linkField struct {
	index int
	key   string // with quotation marks and colon
	kind  reflect.Kind
}

var linkFields = func() (list []linkField) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[LinkOut]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(list, linkField{f.Index[0], strconv.Quote(name) + ":", f.Type.Kind()})
	}
	return list
}()

// keyField is the place of URLMd5.
var keyField = slices.IndexFunc(linkFields, func(f linkField) bool { return f.key == `"urlMd5":` })

// appendLink appends the JSON of a link that follows last in a LinkList.
func appendLink(to []byte, l, last *LinkOut) ([]byte, error) {
	now, before := reflect.ValueOf(l).Elem(), reflect.ValueOf(last).Elem()
	hasKey := l.URLMd5 == urlkey.Of(l.URL)
	begin := byte('{')
	for i := range linkFields {
		f := &linkFields[i]
		value := now.Field(f.index)
		if i == keyField {
			if hasKey {
				continue
			}
		} else if f.isImplied(value, before.Field(f.index)) {
			continue
		}
		to = append(append(to, begin), f.key...)
		begin = ','
		switch {
		case f.kind == reflect.Int64:
			to = strconv.AppendInt(to, value.Int(), 10)
		case f.kind == reflect.String && isSimpleJSON(value.String()):
			to = append(append(append(to, '"'), value.String()...), '"')
		default:
			of := value.Interface()
			if f.kind == reflect.String {
				of = value.String() // an empty Date is no null, which would change nothing
			}
			text, err := json.Marshal(of)
			if err != nil {
				return nil, fmt.Errorf("encode link %s: %w", l.URLMd5, err)
			}
			to = append(to, text...)
		}
	}
	if begin == '{' {
		to = append(to, begin)
	}
	return append(to, '}'), nil
}

// isImplied reports whether a value is left out after the value before it.
func (f *linkField) isImplied(value, before reflect.Value) bool {
	switch f.kind {
	case reflect.String:
		return value.String() == before.String()
	case reflect.Int64:
		return value.Int() == before.Int()
	case reflect.Uint64:
		return value.Uint() == before.Uint()
	case reflect.Float64:
		return value.Float() == before.Float()
	case reflect.Slice:
		return value.Len() == 0
	}
	return value.IsZero()
}

// isSimpleJSON reports whether a text is the same in JSON, also in JSON for HTML.
func isSimpleJSON(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }) < 0
}

const listBegin, listEnd = `{"same":[`, "]}"

// LinkText is a LinkList that is written link by link. The zero value is empty.
type LinkText struct {
	N    int // links
	text []byte
	last LinkOut
}

// Add appends a link, unless it makes a text with others of most bytes or more; 0: no bound.
func (t *LinkText) Add(l *LinkOut, most int) (fits bool, err error) {
	begin := ","
	if t.N == 0 {
		begin = listBegin
	}
	text, err := appendLink(append(t.text, begin...), l, &t.last)
	if err != nil || t.N > 0 && most > 0 && len(text) >= most {
		return false, err
	}
	t.N, t.text, t.last = t.N+1, text, *l
	return true, nil
}

// JSON returns the text of the list.
func (t *LinkText) JSON() string {
	if t.N == 0 {
		return listBegin + listEnd
	}
	return string(t.text) + listEnd
}

// MarshalJSON writes the short form.
func (list LinkList) MarshalJSON() ([]byte, error) {
	var t LinkText
	for i := range list {
		if _, err := t.Add(&list[i], 0); err != nil {
			return nil, err
		}
	}
	return []byte(t.JSON()), nil
}

// plainLink is a LinkOut without methods.
type plainLink LinkOut

// UnmarshalJSON reads both forms.
func (list *LinkList) UnmarshalJSON(data []byte) error {
	*list = nil
	if len(data) > 0 && data[0] == '[' {
		err := json.Unmarshal(data, (*[]LinkOut)(list))
		for i := range *list {
			(*list)[i].setKey()
		}
		return err
	}
	var short struct {
		Same []json.RawMessage `json:"same"`
	}
	if err := json.Unmarshal(data, &short); err != nil {
		return err
	}
	*list = make(LinkList, 0, len(short.Same))
	var last plainLink
	for _, text := range short.Same {
		l := last
		l.URLMd5, l.ChainID, l.Attributes, l.URLPut, l.URLUpdate = "", nil, nil, nil, nil
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		*list = append(*list, LinkOut(l))
		(*list)[len(*list)-1].setKey()
		last = l
	}
	return nil
}

func (l *LinkOut) setKey() {
	if l.URLMd5 == "" {
		l.URLMd5 = urlkey.Of(l.URL)
	}
}
