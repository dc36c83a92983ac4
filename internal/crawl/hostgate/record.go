package hostgate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// record is the begin of a gate file, little-endian. The quoted host follows at labelAt, for
// people who inspect the folder.
type record struct {
	Magic      [8]byte
	Start, End int64 // Unix nanoseconds, 0 = never
	Delay      time.Duration
	InFlight   uint32
	Sum        uint32 // CRC-32 (IEEE) of the bytes before
}

const (
	magic      = "dcgate1\n"
	recordSize = 40
	labelAt    = 64
	maxLabel   = 255
)

// readAt reads what f has of b at the offset.
func readAt(f *os.File, b []byte, at int64) (int, error) {
	n, err := f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// readRecord returns the state stored in f. fresh reports that f has none. A damaged record
// counts as a request in flight: the next one waits a gap.
func readRecord(f *os.File) (state politeness.State, fresh bool, err error) {
	var b [recordSize]byte
	var r record
	n, err := readAt(f, b[:], 0)
	if err != nil {
		return state, false, fmt.Errorf("read record: %w", err)
	}
	if b == [recordSize]byte{} { // names of an address may follow
		return state, true, nil
	}
	_, _ = binary.Decode(b[:], binary.LittleEndian, &r) // the sizes are equal
	if n < recordSize || string(r.Magic[:]) != magic || r.Sum != crc32.ChecksumIEEE(b[:36]) {
		return politeness.State{InFlight: true}, false, nil
	}
	return politeness.State{Start: fromNano(r.Start), End: fromNano(r.End), Delay: r.Delay, InFlight: r.InFlight != 0}, false, nil
}

// writeRecord stores the state without a sync: the restart after a crash of the machine
// takes longer than a gap.
func writeRecord(f *os.File, state politeness.State) error {
	b := encodeRecord(state)
	if _, err := f.WriteAt(b[:], 0); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// writeNewRecord is writeRecord for an empty file. It also writes the label.
func writeNewRecord(f *os.File, state politeness.State, host string) error {
	label := strconv.QuoteToASCII(host)
	label = label[:min(len(label), maxLabel)] + "\n"
	if _, err := f.WriteAt([]byte(label), labelAt); err != nil {
		return fmt.Errorf("write label: %w", err)
	}
	return writeRecord(f, state)
}

func encodeRecord(state politeness.State) (b [recordSize]byte) {
	r := record{Magic: [8]byte([]byte(magic)), Start: toNano(state.Start), End: toNano(state.End), Delay: state.Delay}
	if state.InFlight {
		r.InFlight = 1
	}
	_, _ = binary.Encode(b[:], binary.LittleEndian, r) // the sizes are equal
	binary.LittleEndian.PutUint32(b[36:], crc32.ChecksumIEEE(b[:36]))
	return b
}

func toNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
