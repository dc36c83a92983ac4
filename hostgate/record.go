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
	Start, End stamp
	Boot       uint64 // of the stamps; see clock
	Delay      time.Duration
	Until      stamp
	Troubles   uint32
	InFlight   uint32
	_          uint32
	Sum        uint32 // CRC-32 (IEEE) of the bytes before
}

const (
	magic      = "dcgate3\n"
	recordSize = 88
	sumAt      = recordSize - 4
	labelAt    = recordSize
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

// readState returns the state stored in f, with times of this clock. fresh reports that f has none. A
// damaged record, or one of an older format, counts as a request in flight: the next one waits a gap.
func (c clock) readState(f *os.File) (state politeness.State, fresh bool, err error) {
	var b [recordSize]byte
	n, err := readAt(f, b[:], 0)
	if err != nil {
		return state, false, fmt.Errorf("read record: %w", err)
	}
	if b == [recordSize]byte{} { // names of an address may follow
		return state, true, nil
	}
	r, whole := decodeRecord(b, n)
	if !whole {
		return politeness.State{InFlight: true}, false, nil
	}
	return politeness.State{
		Start: c.timeOf(r.Start, r.Boot), End: c.timeOf(r.End, r.Boot), Delay: r.Delay, InFlight: r.InFlight != 0,
		Until: c.timeOf(r.Until, r.Boot), Troubles: r.Troubles,
	}, false, nil
}

// decodeRecord returns the record in n bytes, and whether it is whole and of this format.
func decodeRecord(b [recordSize]byte, n int) (r record, whole bool) {
	_, _ = binary.Decode(b[:], binary.LittleEndian, &r) // the sizes are equal
	return r, n == recordSize && string(r.Magic[:]) == magic && r.Sum == crc32.ChecksumIEEE(b[:sumAt])
}

// CheckFile returns an error if the gate file at path has a damaged record. A record of an older format is not damaged.
func CheckFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for range 3 { // a crawler may write it meanwhile
		var b [recordSize]byte
		n, err := readAt(f, b[:], 0)
		if err != nil || b == [recordSize]byte{} {
			return err
		}
		r, whole := decodeRecord(b, n)
		if older := string(r.Magic[:]) != magic && string(r.Magic[:6]) == magic[:6]; whole || older {
			return nil
		}
	}
	return errors.New("its record does not have its checksum")
}

// writeState stores the state without a sync: the restart after a crash of the machine
// takes longer than a gap.
func (c clock) writeState(f *os.File, state politeness.State) error {
	b := c.encodeState(state)
	if _, err := f.WriteAt(b[:], 0); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// writeNew is write for an empty file. It also writes the label.
func (c clock) writeNew(f *os.File, state politeness.State, host string) error {
	label := strconv.QuoteToASCII(host)
	label = label[:min(len(label), maxLabel)] + "\n"
	if _, err := f.WriteAt([]byte(label), labelAt); err != nil {
		return fmt.Errorf("write label: %w", err)
	}
	return c.writeState(f, state)
}

func (c clock) encodeState(state politeness.State) (b [recordSize]byte) {
	r := record{Magic: [8]byte([]byte(magic)), Start: c.stampOf(state.Start), End: c.stampOf(state.End), Boot: c.boot, Delay: state.Delay, Until: c.stampOf(state.Until), Troubles: state.Troubles}
	if state.InFlight {
		r.InFlight = 1
	}
	_, _ = binary.Encode(b[:], binary.LittleEndian, r) // the sizes are equal
	binary.LittleEndian.PutUint32(b[sumAt:], crc32.ChecksumIEEE(b[:sumAt]))
	return b
}
