package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// readProperties reads the three forms of docs/spec/objects.md 2.4 of properties. Rows without a
// site get siteID. It returns nil if they are absent or null. A value that is a list is
// [siteId, value, urlMd5]. With listsAreValues, for batch items and their siteObj, a value
// may also be a JSON list (docs/spec/crawling.md 3, F8): then only a list that passes
// isPropertyTriple is [siteId, value, urlMd5].
func readProperties(parent *lenient.Object, siteID string, listsAreValues bool) []schema.Patch {
	const field = "properties"
	if !parent.HasField(field) {
		return nil
	}
	if parent.Fields[field][0] == '[' {
		return lenient.ListOf(parent, field, func(o *lenient.Object) schema.Patch {
			row := o.ReadColumns(PropertyColumns)
			if row.Text("Name") == "" {
				o.Notes.NoteIgnored(o.Name, "has no name, so nothing reads it")
			}
			return propertyRow(row, siteID)
		})
	}
	o := parent.ReadChild(field)
	rows := []schema.Patch{}
	for _, key := range slices.Sorted(maps.Keys(o.Fields)) {
		if !schema.IsNull(o.Fields[key]) {
			rows = append(rows, propertyRow(readProperty(o, key, listsAreValues), siteID))
		}
	}
	return rows
}

// readProperty reads the value of one property of an object.
func readProperty(o *lenient.Object, key string, listsAreValues bool) schema.Patch {
	row, value := schema.Patch{"Name": key}, o.Fields[key]
	switch {
	case value[0] == '[' && (!listsAreValues || isPropertyTriple(value)):
		var triple []json.RawMessage
		texts := json.Unmarshal(value, &triple) == nil && len(triple) == 3
		for i, column := range []string{"Site_Id", "Value", "URLMd5"} {
			if texts && !schema.IsNull(triple[i]) {
				row[column], texts = schema.ReadText(triple[i])
			}
		}
		if !texts {
			o.RefuseField(key, "is not a list of three texts: siteId, value, urlMd5")
		}
	case value[0] == '[' || value[0] == '{':
		row["Value"] = string(value)
	default:
		text, ok := schema.ReadText(value)
		if !ok {
			o.RefuseField(key, schema.KindText.RefusalReason(value))
		}
		row["Value"] = text
	}
	for _, c := range PropertyColumns {
		if reason := c.RefusalReason(row[c.Name]); reason != "" {
			o.RefuseField(key, reason)
		} else if !schema.IsCleanText(row.Text(c.Name)) {
			o.RefuseField(key, "has NUL, or bytes that are not a character")
		}
	}
	return row
}

// isPropertyTriple reports whether a JSON list has the form [siteId, value, urlMd5].
// Each element may be null.
func isPropertyTriple(value json.RawMessage) bool {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || len(list) != 3 || !schema.IsNull(list[1]) && strings.IndexByte("[{", list[1][0]) >= 0 {
		return false
	}
	for i, check := range map[int]func(object, field, text string) error{0: CheckSiteID, 2: CheckMd5} {
		if schema.IsNull(list[i]) {
			continue
		}
		if text, ok := schema.ReadText(list[i]); !ok || checkGiven(check, "", "", schema.LowerMD5(text)) != nil {
			return false
		}
	}
	return true
}

func propertyRow(row schema.Patch, siteID string) schema.Patch {
	if row.Text("Site_Id") == "" {
		row["Site_Id"] = siteID
	}
	for _, column := range []string{"Name", "URLMd5", "Value"} {
		if _, ok := row[column]; !ok {
			row[column] = ""
		}
	}
	row["URLMd5"] = schema.LowerMD5(row.Text("URLMd5"))
	return row
}
