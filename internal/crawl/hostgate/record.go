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

// A gate file begins with a record of recordSize bytes, little-endian:
//
//	 0  8  magic
//	 8  8  start, Unix nanoseconds, 0 = never
//	16  8  end, Unix nanoseconds, 0 = never
//	24  8  delay, nanoseconds
//	32  4  1 = in flight
//	36  4  CRC-32 (IEEE) of the bytes before
//
// The quoted host follows at labelAt, for people who inspect the folder.
const (
	magic      = "dcgate1\n"
	recordSize = 40
	labelAt    = 64
	maxLabel   = 255
)

// readRecord returns the state stored in f. fresh reports that f is empty. A damaged record
// counts as a request in flight: the next one waits a gap.
func readRecord(f *os.File) (state politeness.State, fresh bool, err error) {
	var b [recordSize]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return state, false, fmt.Errorf("read record: %w", err)
	}
	if n == 0 {
		return state, true, nil
	}
	sum := binary.LittleEndian.Uint32(b[36:])
	if n < recordSize || string(b[:8]) != magic || sum != crc32.ChecksumIEEE(b[:36]) {
		return politeness.State{InFlight: true}, false, nil
	}
	return politeness.State{
		Start:    fromNano(binary.LittleEndian.Uint64(b[8:])),
		End:      fromNano(binary.LittleEndian.Uint64(b[16:])),
		Delay:    time.Duration(binary.LittleEndian.Uint64(b[24:])),
		InFlight: binary.LittleEndian.Uint32(b[32:]) != 0,
	}, false, nil
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
	copy(b[:], magic)
	binary.LittleEndian.PutUint64(b[8:], toNano(state.Start))
	binary.LittleEndian.PutUint64(b[16:], toNano(state.End))
	binary.LittleEndian.PutUint64(b[24:], uint64(state.Delay))
	if state.InFlight {
		binary.LittleEndian.PutUint32(b[32:], 1)
	}
	binary.LittleEndian.PutUint32(b[36:], crc32.ChecksumIEEE(b[:36]))
	return b
}

func toNano(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

func fromNano(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n))
}
