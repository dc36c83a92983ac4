package schema

import (
	"reflect"
	"strings"
)

// Column is one column of a database table and the JSON field that carries it.
type Column struct {
	JSON string // name on the wire
	Name string // name in SQL
	Kind Kind
	Bounds

	key   bool // an md5: its digits become lower case
	index int  // of the struct field; -1: the struct has no such field
}

// ColumnsOf reads the struct tags of a row: `json:"name" col:"Name" fit:"u8"`. Fields
// without the tag col are not columns. Bounds explains fit.
func ColumnsOf(row any) []Column {
	t := reflect.TypeOf(row)
	var list []Column
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("col")
		if name == "" {
			continue
		}
		jsonName, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		c := Column{JSON: jsonName, Name: name, Bounds: BoundsOf(f.Tag.Get("fit")), key: strings.HasSuffix(name, "Md5"), index: i}
		switch {
		case f.Type == reflect.TypeFor[Date]():
			c.Kind = KindDate
		case f.Type.Kind() == reflect.Float64:
			c.Kind = KindFloat
		case f.Type.Kind() == reflect.String:
			c.Kind = KindText
		default:
			c.Kind = KindInt
		}
		list = append(list, c)
	}
	return list
}

// Targets returns a scan target of package database/sql for each column, in order. row
// points to the struct of the columns. A target accepts texts, numbers, times and NULL.
func Targets(row any, columns []Column) []any {
	v := reflect.ValueOf(row).Elem()
	targets := make([]any, 0, len(columns))
	for _, c := range columns {
		if c.index < 0 {
			continue
		}
		targets = append(targets, &cell{v.Field(c.index)})
	}
	return targets
}

// Apply sets the fields of row that p sets. row points to the struct of the columns. The
// Expr NOW() becomes now; any other Expr is skipped, because only a database can evaluate
// it.
func Apply(row any, columns []Column, p Patch, now Date) {
	v := reflect.ValueOf(row).Elem()
	for _, c := range columns {
		value, ok := p[c.Name]
		if !ok || c.index < 0 {
			continue
		}
		if x, computed := value.(Expr); computed && c.Kind == KindDate && strings.EqualFold(strings.ReplaceAll(string(x), " ", ""), "NOW()") {
			value = string(now)
		}
		setField(v.Field(c.index), value)
	}
}

// RowsOf returns new rows with the columns that the patches set.
func RowsOf[T any](columns []Column, patches []Patch) []T {
	rows := make([]T, len(patches))
	for i, p := range patches {
		Apply(&rows[i], columns, p, "")
	}
	return rows
}

// FitRow changes the fields of row that do not fit into their columns (see Column.Fit), and
// returns the values of the columns in order. Empty dates are nil. row points to the struct
// of the columns.
func FitRow(row any, columns []Column) []any {
	v := reflect.ValueOf(row).Elem()
	values := make([]any, 0, len(columns))
	for _, c := range columns {
		if c.index < 0 {
			continue
		}
		f := v.Field(c.index)
		value := c.patchValue(f)
		if fitted := c.Fit(value); fitted != value {
			value = fitted
			setField(f, fitted)
		}
		values = append(values, value)
	}
	return values
}

// setField sets a field to a value of a Patch. An Expr changes nothing.
func setField(f reflect.Value, value any) {
	switch x := value.(type) {
	case nil:
		f.SetZero()
	case int64:
		if f.CanUint() {
			f.SetUint(uint64(x))
		} else {
			f.SetInt(x)
		}
	case float64:
		f.SetFloat(x)
	case string:
		f.SetString(x)
	}
}

// patchValue returns a field as the value of a Patch.
func (c Column) patchValue(f reflect.Value) any {
	switch {
	case c.Kind == KindDate && f.String() == "":
		return nil
	case c.Kind == KindDate || c.Kind == KindText:
		return f.String()
	case c.Kind == KindFloat:
		return f.Float()
	case f.CanUint():
		return int64(f.Uint())
	}
	return f.Int()
}

// PatchOf returns all columns of row as a Patch. Empty dates become nil.
func PatchOf(row any, columns []Column) Patch {
	v := reflect.ValueOf(row).Elem()
	p := make(Patch, len(columns))
	for _, c := range columns {
		if c.index < 0 {
			continue
		}
		p[c.Name] = c.patchValue(v.Field(c.index))
	}
	return p
}

// Unmapped returns a column that its struct has no field for.
func Unmapped(jsonName, name string, kind Kind, fit string) Column {
	return Column{JSON: jsonName, Name: name, Kind: kind, Bounds: BoundsOf(fit), index: -1}
}

// FindColumn finds a column by its name in SQL or in JSON, in any letter case.
func FindColumn(columns []Column, name string) (Column, bool) {
	for _, c := range columns {
		if strings.EqualFold(c.Name, name) || strings.EqualFold(c.JSON, name) {
			return c, true
		}
	}
	return Column{}, false
}
