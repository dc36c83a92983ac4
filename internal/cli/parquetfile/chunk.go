package parquetfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// pageBytes is the size at which a page ends.
const pageBytes = 1 << 20

// chunk has the values of a column in the current row group.
type chunk struct {
	column Column
	codec  *zstd.Codec
	page   page
	pages  []byte // finished pages with their headers, compressed
	number int32  // of finished pages
	plain  int64  // their bytes before compression
	values int64  // with missing ones
	nulls  int64
	// The smallest and largest integer or time; none if all values are missing.
	low, high int64
	bounded   bool

	body, packed []byte // buffers
}

// page has the values that are not yet encoded. A missing value and an empty list have one entry in
// the levels and no value.
type page struct {
	values   []byte // plain encoding
	entries  int32
	defined  []bool // of columns with missing values: the entry has a value
	repeated []bool // of lists: the entry belongs to the same list as the one before
	nulls    int64
}

// size returns the bytes of the values, with one for each entry.
func (p *page) size() int { return len(p.values) + int(p.entries) }

// addValue adds the value of a row.
func (c *chunk) addValue(value any) (err error) {
	switch v := value.(type) {
	case string:
		err = c.checkKind(Text)
		c.addText(v)
	case int64:
		err = c.checkKind(Integer)
		c.addInteger(v)
	case time.Time:
		err = c.checkKind(Time)
		c.page.defined = append(c.page.defined, true)
		c.addInteger(v.UnixMilli())
	case nil:
		err = c.checkKind(Time)
		c.addMissing()
	case []string:
		err = c.checkKind(Texts)
		c.addList(v)
	default:
		err = fmt.Errorf("column %s takes no %T", c.column.Name, value)
	}
	return err
}

// checkKind refuses a value of another kind.
func (c *chunk) checkKind(kind Kind) error {
	if c.column.Kind != kind {
		return fmt.Errorf("column %s is of another kind than its value", c.column.Name)
	}
	return nil
}

// addText adds a text in UTF-8: readers refuse others.
func (c *chunk) addText(v string) {
	v = strings.ToValidUTF8(v, "\uFFFD")
	c.page.values = binary.LittleEndian.AppendUint32(c.page.values, uint32(len(v)))
	c.page.values = append(c.page.values, v...)
	c.page.entries++
}

func (c *chunk) addInteger(v int64) {
	c.page.values = binary.LittleEndian.AppendUint64(c.page.values, uint64(v))
	c.page.entries++
	if !c.bounded {
		c.low, c.high, c.bounded = v, v, true
	}
	c.low, c.high = min(c.low, v), max(c.high, v)
}

// addMissing adds an entry without a value.
func (c *chunk) addMissing() {
	c.page.defined = append(c.page.defined, false)
	c.page.entries++
	c.page.nulls++
}

func (c *chunk) addList(v []string) {
	if len(v) == 0 {
		c.page.repeated = append(c.page.repeated, false)
		c.addMissing()
	}
	for i, text := range v {
		c.page.repeated = append(c.page.repeated, i > 0)
		c.page.defined = append(c.page.defined, true)
		c.addText(text)
	}
}

// endPage encodes the page and compresses it, if it has entries.
func (c *chunk) endPage() error {
	if c.page.entries == 0 {
		return nil
	}
	c.body = c.body[:0]
	if c.column.Kind == Texts {
		c.body = appendLevels(c.body, c.page.repeated)
	}
	if c.column.Kind == Texts || c.column.Kind == Time {
		c.body = appendLevels(c.body, c.page.defined)
	}
	c.body = append(c.body, c.page.values...)
	var err error
	if c.packed, err = c.codec.Encode(c.packed[:0], c.body); err != nil {
		return err
	}
	header, err := thrift.Marshal(&protocol, &format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(len(c.body)), CompressedPageSize: int32(len(c.packed)), CRC: int32(crc32.ChecksumIEEE(c.packed)),
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: c.page.entries, Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
			Statistics: format.Statistics{NullCount: c.page.nulls},
		}),
	})
	if err != nil {
		return err
	}
	c.pages = append(append(c.pages, header...), c.packed...)
	c.plain += int64(len(header) + len(c.body))
	c.number++
	c.values += int64(c.page.entries)
	c.nulls += c.page.nulls
	c.page = page{values: c.page.values[:0], defined: c.page.defined[:0], repeated: c.page.repeated[:0]}
	return nil
}

// appendLevels appends levels of one bit with their length: one run of packed bits, in groups of
// eight, the least significant bit first.
func appendLevels(to []byte, levels []bool) []byte {
	groups := (len(levels) + 7) / 8
	run := binary.AppendUvarint(nil, uint64(groups)<<1|1)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(run)+groups))
	to = append(to, run...)
	first := len(to)
	to = append(to, make([]byte, groups)...)
	for i, level := range levels {
		if level {
			to[first+i/8] |= 1 << (i % 8)
		}
	}
	return to
}

// describePages describes the pages, which begin at byte offset of the file.
func (c *chunk) describePages(offset int64) format.ColumnChunk {
	m := format.ColumnMetaData{
		Type: c.column.Kind.physicalType(), Encoding: []format.Encoding{format.Plain, format.RLE}, PathInSchema: c.column.schemaPath(), Codec: format.Zstd,
		NumValues: c.values, TotalUncompressedSize: c.plain, TotalCompressedSize: int64(len(c.pages)), DataPageOffset: offset,
		Statistics:    format.Statistics{NullCount: c.nulls},
		EncodingStats: []format.PageEncodingStats{{PageType: format.DataPage, Encoding: format.Plain, Count: c.number}},
	}
	if c.bounded {
		m.Statistics.MinValue = binary.LittleEndian.AppendUint64(nil, uint64(c.low))
		m.Statistics.MaxValue = binary.LittleEndian.AppendUint64(nil, uint64(c.high))
	}
	return format.ColumnChunk{MetaData: m}
}

// resetValues forgets all values.
func (c *chunk) resetValues() {
	*c = chunk{column: c.column, codec: c.codec, page: c.page, pages: c.pages[:0], body: c.body, packed: c.packed}
}
