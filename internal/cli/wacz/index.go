package wacz

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// linesOfBlock is the number of captures that a reader loads together.
const linesOfBlock = 1000

const (
	indexName = "index.cdx.gz"
	indexMeta = `!meta 0 {"format":"cdxj-gzip-1.0","filename":"` + indexName + `"}` + "\n"
)

// index writes sorted lines of CDXJ in gzip members, and a line for each member to blocks.
type index struct {
	out, blocks io.Writer
	offset      int64 // of out
	lines       int   // of the member
	first       string
	member      bytes.Buffer
	zip         *gzip.Writer
}

func newIndex(out, blocks io.Writer) (*index, error) {
	x := &index{out: out, blocks: blocks}
	x.zip = gzip.NewWriter(&x.member)
	_, err := io.WriteString(blocks, indexMeta)
	return x, err
}

// addLine adds a line, which ends with a newline.
func (x *index) addLine(line string) error {
	if x.lines == 0 {
		x.first = line
	}
	x.lines++
	if _, err := io.WriteString(x.zip, line); err != nil || x.lines < linesOfBlock {
		return err
	}
	return x.endMember()
}

// endMember writes the current member and its line.
func (x *index) endMember() error {
	if x.lines == 0 {
		return nil
	}
	if err := x.zip.Close(); err != nil {
		return err
	}
	block, err := json.Marshal(struct {
		Offset   int64  `json:"offset"`
		Length   int    `json:"length"`
		Digest   string `json:"digest"`
		Filename string `json:"filename"`
	}{x.offset, x.member.Len(), fmt.Sprintf("sha256:%x", sha256.Sum256(x.member.Bytes())), indexName})
	if err != nil {
		return err
	}
	key, _, _ := strings.Cut(x.first, " {") // SURT and time
	if _, err := fmt.Fprintf(x.blocks, "%s %s\n", key, block); err != nil {
		return err
	}
	x.offset += int64(x.member.Len())
	if _, err := x.out.Write(x.member.Bytes()); err != nil {
		return err
	}
	x.lines = 0
	x.member.Reset()
	x.zip.Reset(&x.member)
	return nil
}
