// Package parquetfile writes a Parquet file that another process can continue.
//
//	w, err := parquetfile.New(out, nil, []parquetfile.Column{{Name: "url"}, {Name: "size", Kind: parquetfile.Integer}})
//	err = w.Row([]any{"https://example.org/", int64(512)})
//	err = w.EndGroup() // what is written until here can be continued
//	err = w.Close()
//
// A Parquet file ends with a footer that says where its row groups are, so a file without its end
// cannot be read. This writer puts a copy of the metadata after each row group, and behind it their
// length and their CRC-32, in 4 bytes each, the least significant byte first. Readers skip these
// bytes: no offset of the footer points to them. A writer that continues a file reads them backwards
// from its end and needs nothing else to write the footer.
//
// One row group is held in memory, compressed, and about 70 bytes of metadata for each column of a
// finished one.
//
// Pages are version 1 with plain encoding and zstd, which every reader knows. Integers and times have
// their smallest and largest value in each row group. There is no page index.
//
// Of parquet-go, only the encoding of metadata and of zstd is linked into programs: its writer brings
// 8 MB of other formats with it, and cannot continue a file. The tests use its reader.
// Source: https://parquet.apache.org/docs/file-format/
package parquetfile
