package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// readProperties reads the three forms of docs/spec/objects.md 2.4. Rows without a site get
// siteID. A value that is a list is [siteId, value, urlMd5].
func readProperties(name, siteID string, raw json.RawMessage, n *Notes) ([]Patch, error) {
	return readPropertiesOf(name, siteID, raw, false, n)
}

// readBatchProperties is readProperties for batch items and their siteObj. There a
// value may also be a JSON list (docs/spec/crawling.md 3, F8): only a list that passes
// isPropertyTriple is [siteId, value, urlMd5].
func readBatchProperties(name, siteID string, raw json.RawMessage, n *Notes) ([]Patch, error) {
	return readPropertiesOf(name, siteID, raw, true, n)
}

func readPropertiesOf(name, siteID string, raw json.RawMessage, listsAreValues bool, n *Notes) ([]Patch, error) {
	if len(raw) > 0 && raw[0] == '[' {
		return readList(name, raw, func(name string, raw json.RawMessage) (Patch, error) {
			o := readObject(name, raw)
			row := o.columns(PropertyColumns)
			if o.err == nil && row.Text("Name") == "" {
				o.fail("name", "is missing")
			}
			return propertyRow(row, siteID), o.end(n)
		})
	}
	o := readObject(name, raw)
	if o.err != nil {
		return nil, o.err
	}
	rows := []Patch{}
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		value := o.fields[key]
		row := Patch{"Name": key}
		if isNull(value) {
			continue
		}
		switch value[0] {
		case '[':
			if listsAreValues && !isPropertyTriple(value) {
				row["Value"] = string(value)
				break
			}
			var triple []json.RawMessage
			texts := json.Unmarshal(value, &triple) == nil && len(triple) == 3
			for i, column := range []string{"Site_Id", "Value", "URLMd5"} {
				if !texts || isNull(triple[i]) {
					continue
				}
				row[column], texts = readText(triple[i])
			}
			if !texts {
				o.fail(key, "is not a list of three texts: siteId, value, urlMd5")
				return nil, o.err
			}
		case '{':
			row["Value"] = string(value)
		default:
			text, ok := readText(value)
			if !ok {
				o.fail(key, KindText.reason(value))
				return nil, o.err
			}
			row["Value"] = text
		}
		for _, c := range PropertyColumns {
			reason := c.refusal(row[c.Name])
			if reason == "" && !clean(row.Text(c.Name)) {
				reason = "has NUL, or bytes that are not a character"
			}
			if reason != "" {
				o.fail(key, reason)
				return nil, o.err
			}
		}
		rows = append(rows, propertyRow(row, siteID))
	}
	return rows, nil
}

// isPropertyTriple reports whether a JSON list has the form [siteId, value, urlMd5].
// Each element may be null.
func isPropertyTriple(value json.RawMessage) bool {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || len(list) != 3 || !isNull(list[1]) && strings.IndexByte("[{", list[1][0]) >= 0 {
		return false
	}
	for i, check := range map[int]func(object, field, text string) error{0: CheckSiteID, 2: CheckMd5} {
		if isNull(list[i]) {
			continue
		}
		if text, ok := readText(list[i]); !ok || text != "" && check("", "", text) != nil {
			return false
		}
	}
	return true
}

func propertyRow(row Patch, siteID string) Patch {
	if row.Text("Site_Id") == "" {
		row["Site_Id"] = siteID
	}
	for _, column := range []string{"URLMd5", "Value"} {
		if _, ok := row[column]; !ok {
			row[column] = ""
		}
	}
	return row
}
