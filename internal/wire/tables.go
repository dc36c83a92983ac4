package wire

import (
	"hce/dc/internal/wire/schema"
)

// The columns of the tables, in the order of the fields of Site, URL, SiteFilter and
// SiteProperty.
var (
	SiteColumns     = schema.ColumnsOf(Site{})
	URLColumns      = schema.ColumnsOf(URL{})
	RootURLColumns  = append(schema.ColumnsOf(URL{}), schema.Unmapped("userId", "User_Id", schema.KindInt, "u64"))
	FilterColumns   = schema.ColumnsOf(SiteFilter{})
	PropertyColumns = schema.ColumnsOf(SiteProperty{})

	urlColumn, _ = schema.FindColumn(URLColumns, "URL")
)
