package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	magic        = "PAR1" // the first and the last bytes of a file
	trailerBytes = 8      // behind the metadata of a row group
	mostGroups   = math.MaxInt16
)

// protocol is the encoding of metadata. It has no state.
var protocol thrift.CompactProtocol

// Writer writes one file. It is not safe for concurrent use. After an error it is of no further use.
type Writer struct {
	out    io.Writer
	chunks []chunk  // of the columns
	at     int64    // bytes of out
	groups [][]byte // encoded metadata of the finished row groups
	rows   int64    // of the current row group
	size   int64    // of their values
}

// New returns a writer of a file with these columns, whose names differ. prior is what earlier
// writers have written to out, up to the end of a row group; nil for a new file. New writes nothing.
func New(out io.Writer, prior *io.SectionReader, columns []Column) (*Writer, error) {
	w := &Writer{out: out}
	codec := new(zstd.Codec)
	for _, c := range columns {
		w.chunks = append(w.chunks, chunk{column: c, codec: codec})
	}
	if prior != nil && prior.Size() > 0 {
		var err error
		if w.groups, err = readRowGroups(prior); err != nil {
			return nil, err
		}
		w.at = prior.Size()
	}
	return w, nil
}

// Row adds a row: one value for each column, of the type of its kind.
func (w *Writer) Row(values []any) error {
	for i, value := range values {
		c := &w.chunks[i]
		before := c.page.size()
		if err := c.addValue(value); err != nil {
			return err
		}
		w.size += int64(c.page.size() - before)
		if c.page.size() >= pageBytes {
			if err := c.endPage(); err != nil {
				return err
			}
		}
	}
	w.rows++
	return nil
}

// Size returns the bytes of the values since the last EndGroup, with one or more for each value.
func (w *Writer) Size() int64 { return w.size }

// EndGroup writes the rows since the last call as a row group, if there are any. What is written then
// can be continued.
func (w *Writer) EndGroup() error {
	if w.rows == 0 {
		return nil
	}
	if len(w.groups) == mostGroups {
		return fmt.Errorf("a Parquet file has at most %d row groups; export a part of the site with --where or --since", mostGroups)
	}
	if err := w.writeStart(); err != nil {
		return err
	}
	group := format.RowGroup{NumRows: w.rows, FileOffset: w.at, Ordinal: int16(len(w.groups))}
	for i := range w.chunks {
		c := &w.chunks[i]
		if err := c.endPage(); err != nil {
			return err
		}
		group.Columns = append(group.Columns, c.describePages(w.at))
		group.TotalByteSize += c.plain
		group.TotalCompressedSize += int64(len(c.pages))
		if err := w.writeBytes(c.pages); err != nil {
			return err
		}
		c.resetValues()
	}
	metadata, err := thrift.Marshal(&protocol, &group)
	if err != nil {
		return err
	}
	w.groups = append(w.groups, metadata)
	w.rows, w.size = 0, 0
	return w.writeBytes(append(bytes.Clone(metadata), encodeTrailer(metadata)...))
}

// Close ends the row group and writes the footer. It does not close the output.
func (w *Writer) Close() error {
	if err := errors.Join(w.EndGroup(), w.writeStart()); err != nil {
		return err
	}
	footer := format.FileMetaData{Version: 1, CreatedBy: "HCE Distributed Crawler"}
	var columns []Column
	for i := range w.chunks {
		columns = append(columns, w.chunks[i].column)
		footer.ColumnOrders = append(footer.ColumnOrders, format.ColumnOrder{Value: new(format.TypeDefinedOrder)})
	}
	footer.Schema = schemaElements(columns)
	for _, metadata := range w.groups {
		var group format.RowGroup
		if err := thrift.Unmarshal(&protocol, metadata, &group); err != nil {
			return err
		}
		footer.NumRows += group.NumRows
		footer.RowGroups = append(footer.RowGroups, group)
	}
	metadata, err := thrift.Marshal(&protocol, &footer)
	if err != nil {
		return err
	}
	metadata = binary.LittleEndian.AppendUint32(metadata, uint32(len(metadata)))
	return w.writeBytes(append(metadata, magic...))
}

// writeStart writes the first bytes of a new file.
func (w *Writer) writeStart() error {
	if w.at > 0 {
		return nil
	}
	return w.writeBytes([]byte(magic))
}

func (w *Writer) writeBytes(data []byte) error {
	n, err := w.out.Write(data)
	w.at += int64(n)
	return err
}

// readRowGroups reads the metadata of the row groups of a file without a footer.
func readRowGroups(prior *io.SectionReader) ([][]byte, error) {
	var groups [][]byte
	end := prior.Size()
	for end > int64(len(magic)) {
		metadata, begin, err := lastGroup(prior, end)
		if err != nil {
			return nil, err
		}
		groups = append(groups, metadata)
		end = begin
	}
	start := make([]byte, len(magic))
	if _, err := prior.ReadAt(start, 0); err != nil || end != int64(len(magic)) || string(start) != magic {
		return nil, fmt.Errorf("the first row group does not begin behind %s (%v); the file was changed", magic, err)
	}
	slices.Reverse(groups)
	return groups, nil
}

// encodeTrailer returns the bytes behind metadata.
func encodeTrailer(metadata []byte) []byte {
	bytes := binary.LittleEndian.AppendUint32(nil, uint32(len(metadata)))
	return binary.LittleEndian.AppendUint32(bytes, crc32.ChecksumIEEE(metadata))
}

// lastGroup returns the metadata of the row group that ends at end, and where it begins.
func lastGroup(prior *io.SectionReader, end int64) (metadata []byte, begin int64, err error) {
	wrong := func(err error) ([]byte, int64, error) {
		return nil, 0, fmt.Errorf("no row group ends at byte %d (%v); the file was changed", end, err)
	}
	last := make([]byte, trailerBytes)
	if _, err := prior.ReadAt(last, max(end-trailerBytes, 0)); err != nil {
		return wrong(err)
	}
	at := end - trailerBytes - int64(binary.LittleEndian.Uint32(last))
	if at < int64(len(magic)) {
		return wrong(nil)
	}
	metadata = make([]byte, end-trailerBytes-at)
	if _, err := prior.ReadAt(metadata, at); err != nil || !bytes.Equal(last, encodeTrailer(metadata)) {
		return wrong(err)
	}
	var group format.RowGroup
	if err := thrift.Unmarshal(&protocol, metadata, &group); err != nil || group.FileOffset >= at {
		return wrong(err)
	}
	return metadata, group.FileOffset, nil
}
