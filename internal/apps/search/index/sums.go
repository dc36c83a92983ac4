package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"hce/dc/internal/files"
)

// ErrDamaged means that a file of the index has other bytes than were written, or is missing.
// Replace begins a new index in the folder.
var ErrDamaged = errors.New("the index is damaged")

// remedy says what to do about a damaged index.
const remedy = `run "hce-search index", which writes it again from what the crawler has stored`

func newDamagedError(path, reason string) error {
	return fmt.Errorf("%w: %s: %s; %s", ErrDamaged, path, reason, remedy)
}

const wrongSum = "its checksum does not fit"

// sum is size and CRC-32C of a file.
type sum struct {
	Size int64  `json:"size"`
	CRC  uint32 `json:"crc"`
}

// sums are the sums of the files of a snapshot, by their path in it.
type sums map[string]sum

// sumsFile has sums and, in a second line, the CRC-32C of the first one.
const sumsFile = "sums.json"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s sums) writeSums(folder string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, sumsFile), fmt.Appendf(text, "\n%08x\n", crc32.Checksum(text, castagnoli)), 0o600)
}

func readSums(folder string) (s sums, err error) {
	path := filepath.Join(folder, sumsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list, check, _ := bytes.Cut(text, []byte("\n"))
	if string(check) != fmt.Sprintf("%08x\n", crc32.Checksum(list, castagnoli)) || json.Unmarshal(list, &s) != nil {
		return nil, newDamagedError(path, wrongSum)
	}
	return s, nil
}

// completeSums writes the sums of all files of a folder, and returns them. Segments that s has are not read.
func (s sums) completeSums(folder string) (sums, error) {
	list := sums{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := path[len(folder)+1:]
		if known, found := s[name]; found && isSegment(name) {
			list[name] = known
			return nil
		}
		one, own, err := sumFile(path)
		if err == nil && !own {
			err = newDamagedError(path, wrongSum)
		}
		list[name] = one
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, list.writeSums(folder)
}

// sumFile reads a file. A segment ends with the CRC-32 of all bytes before; own reports whether it
// fits, and is true for other files.
func sumFile(path string) (s sum, own bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, false, err
	}
	defer f.Close()
	all, library := crc32.New(castagnoli), crc32.NewIEEE()
	end := &tail{to: library}
	if s.Size, err = io.Copy(io.MultiWriter(all, end), f); err != nil {
		return s, false, fmt.Errorf("read %s: %w", path, err)
	}
	s.CRC = all.Sum32()
	own = !isSegment(path) || len(end.kept) == 4 && binary.BigEndian.Uint32(end.kept) == library.Sum32()
	return s, own, nil
}

func isSegment(path string) bool { return strings.HasSuffix(path, ".zap") }

// tail passes on all bytes but the last four.
type tail struct {
	to   io.Writer
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if n := len(t.kept) - 4; n > 0 {
		if _, err := t.to.Write(t.kept[:n]); err != nil {
			return 0, err
		}
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	return len(p), nil
}

// verified has the files that this process has read without a fault, by their inodes: snapshots share
// segments, which are never changed.
var verified struct {
	sync.Mutex
	files map[inode]sum
}

type inode struct {
	device, number uint64
	changed        syscall.Timespec
}

// mostVerified bounds verified; an index has some dozen segments.
const mostVerified = 10_000

func inodeOf(path string) (inode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return inode{}, err
	}
	s := info.Sys().(*syscall.Stat_t)
	return inode{s.Dev, s.Ino, s.Mtim}, nil
}

// checkFile compares a file with its sum. again reads also what was read before.
func checkFile(path string, want sum, again bool) error {
	id, err := inodeOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newDamagedError(path, "it is missing")
	}
	if err != nil {
		return err
	}
	verified.Lock()
	known, found := verified.files[id]
	verified.Unlock()
	if found && known == want && !again {
		return nil
	}
	got, own, err := sumFile(path)
	if err != nil {
		return err
	}
	if got != want || !own {
		return newDamagedError(path, wrongSum)
	}
	rememberVerified(id, got)
	return nil
}

func rememberVerified(id inode, s sum) {
	verified.Lock()
	defer verified.Unlock()
	if verified.files == nil || len(verified.files) >= mostVerified {
		verified.files = map[inode]sum{}
	}
	verified.files[id] = s
}

// checkFiles compares all files of a folder with their sums. again reads also what was read before.
func (s sums) checkFiles(folder string, again bool) error {
	for name, want := range s {
		if err := checkFile(filepath.Join(folder, name), want, again); err != nil {
			return err
		}
	}
	return nil
}

// checkSnapshot compares all files of a snapshot with their sums.
func checkSnapshot(folder string, again bool) error {
	list, err := readSums(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return newDamagedError(filepath.Join(folder, sumsFile), "it is missing")
	}
	if err != nil {
		return err
	}
	return list.checkFiles(folder, again)
}
