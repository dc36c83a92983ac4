package folder

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hce/dc/internal/files"
)

// Names of files.
const (
	StatusName = ".osestatus"
	URLsName   = ".urls"
	MergedName = ".osemerged"
	LockName   = ".oselock"
	LogName    = ".oselog"

	metaStart      = ".meta."
	linksStart     = ".links."
	malformedStart = ".links.malformed."
)

// BodyName is the name of the file with what the server returned.
func BodyName(id ID) string { return id.String() }

// MetaName is the name of the file with what is known of the request.
func MetaName(id ID) string { return metaStart + id.String() }

// LinksName is the name of the file with the links of the page.
func LinksName(id ID) string { return linksStart + id.String() }

// MalformedName is the name of the file with the links that cannot be fetched.
func MalformedName(id ID) string { return malformedStart + id.String() }

// MaxBody is the most bytes of a body that is stored, and maxFile of the file with its head.
const (
	MaxBody = 16 << 20
	maxHead = 1 << 20
	maxFile = MaxBody + maxHead
)

const perm = 0o600

// Folder is the folder of one target. Its methods lock nothing: a writer holds the lock of TryLock.
type Folder struct{ Dir string }

// ErrNoTarget means that a folder is not the folder of a target.
var ErrNoTarget = errors.New("no target folder")

// Open returns the folder of a target. The error wraps ErrNoTarget if the folder has no .osestatus.
func Open(dir string) (*Folder, error) {
	f := &Folder{dir}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("open target: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open target %s: %w: it is a file", dir, ErrNoTarget)
	}
	if _, err := os.Lstat(f.Path(StatusName)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open target %s: %w: it has no %s; create one with: ose init %s URL", dir, ErrNoTarget, StatusName, dir)
	} else if err != nil {
		return nil, fmt.Errorf("open target: %w", err)
	}
	return f, nil
}

// Create makes the folder of a target in an empty or new folder. urls are its first URLs, canonical
// and each once. The state is written last: before that the folder is no target.
func Create(dir string, urls []string) (*Folder, error) {
	f, err := New(dir)
	if err != nil {
		return nil, err
	}
	var list []byte
	for _, u := range urls {
		if err := checkURL(u); err != nil {
			return nil, fmt.Errorf("create target %s: %.200q: %w", dir, u, err)
		}
		list = Record{URL: u}.Append(list)
	}
	if err := files.WriteAlone(f.Path(URLsName), list, perm); err != nil {
		return nil, fmt.Errorf("create target: %w", err)
	}
	return f, f.SetStatus(Status{State: Idle})
}

// New makes an empty folder, which is no target before SetStatus.
func New(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create target: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("create target: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("create target %s: %w; give a new or an empty folder", dir, fs.ErrExist)
	}
	return &Folder{dir}, files.SyncFolder(filepath.Dir(filepath.Clean(dir)))
}

// Path returns the path of a file.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// TryLock takes the lock of the steps. The error wraps files.ErrLocked if a step of another process
// runs, and names the process. The kernel frees the lock when the process dies.
func (f *Folder) TryLock() (unlock func(), err error) { return files.TryLockPID(f.Path(LockName)) }

// OpenFile opens a regular file. It does not follow a symbolic link.
func (f *Folder) OpenFile(name string, flags int) (*os.File, error) {
	file, err := os.OpenFile(f.Path(name), flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, perm)
	if errors.Is(err, syscall.ELOOP) {
		return nil, &Fault{File: f.Path(name), Err: errors.New("a symbolic link is not followed")}
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Fault{File: f.Path(name), Err: errors.New("is not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Read returns a file of at most most bytes.
func (f *Folder) Read(name string, most int64) ([]byte, error) {
	file, err := f.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, &Fault{File: f.Path(name), Err: fmt.Errorf("%d bytes, above the limit of %d", info.Size(), most)}
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(file, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF { // it was cut meanwhile
		err = nil
	}
	return data[:n], err
}

// Status reads .osestatus.
func (f *Folder) Status() (Status, error) {
	text, err := f.Read(StatusName, 4<<10)
	if err != nil {
		return Status{}, err
	}
	s, err := ParseStatus(string(text))
	if err != nil {
		return s, faultOf(f.Path(StatusName), 1, err)
	}
	return s, nil
}

// SetStatus writes .osestatus. It is durable when SetStatus returns.
func (f *Folder) SetStatus(s Status) error {
	Reached("state")
	err := files.WriteAlone(f.Path(StatusName), []byte(s.String()), perm)
	Reached("state")
	return err
}

// Merged reads .osemerged; 0 without the file.
func (f *Folder) Merged() (ID, error) {
	text, err := f.Read(MergedName, 4<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, column := parseDigits(string(text))
	if column > 0 || len(text) != idSize {
		return 0, faultOf(f.Path(MergedName), 1, columnErrorf(max(column, 1), "%.20q is not an id of 10 digits", text))
	}
	return ID(n), nil
}

// SetMerged writes .osemerged.
func (f *Folder) SetMerged(id ID) error {
	return files.WriteAlone(f.Path(MergedName), []byte(id.String()), perm)
}

// Meta reads .meta.<id>.
func (f *Folder) Meta(id ID) (Meta, error) {
	text, err := f.Read(MetaName(id), maxMeta)
	if err != nil {
		return Meta{}, err
	}
	return ParseMeta(f.Path(MetaName(id)), string(text))
}

// Body reads what the server returned for an id: the head, then the body.
func (f *Folder) Body(id ID) ([]byte, error) { return f.Read(BodyName(id), maxFile) }

// Whole returns the meta of an id if it fits the file with the body. The error wraps fs.ErrNotExist
// if one of them is missing.
func (f *Folder) Whole(id ID) (Meta, error) {
	m, err := f.Meta(id)
	if err != nil {
		return m, err
	}
	data, err := f.Body(id)
	if err != nil {
		return m, err
	}
	if int64(len(data)) != m.Size || hexMD5(data) != m.MD5 {
		return m, &Fault{File: f.Path(BodyName(id)), Err: fmt.Errorf("%d bytes with md5 %s, but %s says %d bytes with md5 %s", len(data), hexMD5(data), MetaName(id), m.Size, m.MD5)}
	}
	return m, nil
}

func hexMD5(data []byte) string {
	s := md5.Sum(data)
	return hex.EncodeToString(s[:])
}
