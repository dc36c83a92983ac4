package parquetfile

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Kind is the type of the values of a column.
type Kind int

// Kinds, with the Go type of a value for Row.
const (
	Text    Kind = iota // string
	Integer             // int64
	Time                // time.Time, stored in milliseconds of UTC; nil is a missing value
	Texts               // []string
)

// Column is a column of a file.
type Column struct {
	Name string
	Kind Kind
}

// physicalType returns the type of the stored values.
func (k Kind) physicalType() format.Type {
	if k == Integer || k == Time {
		return format.Int64
	}
	return format.ByteArray
}

// schemaPath returns the place of the values in the schema.
func (c Column) schemaPath() []string {
	if c.Kind == Texts {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}

// schemaElements returns the elements of the tree of columns, depth first.
func schemaElements(columns []Column) []format.SchemaElement {
	list := []format.SchemaElement{{Name: "page", NumChildren: thrift.New(int32(len(columns)))}}
	for _, c := range columns {
		list = append(list, c.columnElements()...)
	}
	return list
}

func (c Column) columnElements() []format.SchemaElement {
	switch c.Kind {
	case Integer:
		return []format.SchemaElement{leafElement(c, c.Name)}
	case Time:
		e := leafElement(c, c.Name)
		e.RepetitionType = thrift.New(format.Optional)
		e.ConvertedType = thrift.New(deprecated.TimestampMillis)
		e.LogicalType = format.LogicalType{Value: &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: new(format.MilliSeconds)}}}
		return []format.SchemaElement{e}
	case Texts:
		one := thrift.New(int32(1))
		return []format.SchemaElement{
			{Name: c.Name, RepetitionType: thrift.New(format.Required), NumChildren: one, ConvertedType: thrift.New(deprecated.List), LogicalType: format.LogicalType{Value: new(format.ListType)}},
			{Name: "list", RepetitionType: thrift.New(format.Repeated), NumChildren: one},
			textLeaf(c, "element"),
		}
	}
	return []format.SchemaElement{textLeaf(c, c.Name)}
}

// leafElement returns the element of required values.
func leafElement(c Column, name string) format.SchemaElement {
	return format.SchemaElement{Name: name, Type: thrift.New(c.Kind.physicalType()), RepetitionType: thrift.New(format.Required)}
}

func textLeaf(c Column, name string) format.SchemaElement {
	e := leafElement(c, name)
	e.ConvertedType = thrift.New(deprecated.UTF8)
	e.LogicalType = format.LogicalType{Value: new(format.StringType)}
	return e
}
