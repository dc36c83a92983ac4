package objectstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/minio/minio-go/v7"

	"hce/dc/internal/files"
)

// PartSize is the size of a part of an upload, in bytes. Servers take 10,000 parts, so 64 MiB allow objects of 625 GiB. Tests
// make it smaller; servers refuse less than 5 MiB.
var PartSize int64 = 64 << 20

// mostParts of an upload are allowed by the protocol.
const mostParts = 10_000

// markName is the name of a value of the object, by which an upload finds out that it had been completed.
const markName = "Hce-Upload"

const (
	stateName = "upload.json"
	lockName  = "lock"
	tailName  = "tail"
)

// ErrBusy means that another process writes the same object.
var ErrBusy = errors.New("another process of this machine writes it")

// UploadOptions are the choices of an upload.
type UploadOptions struct {
	ContentType string
	// KeepsCopy keeps all bytes in the folder, so that they can be read again.
	KeepsCopy bool
}

// uploadState is what the folder of an upload says of it.
type uploadState struct {
	ID       string          `json:"id"`       // by the server; "": no part is sent
	Mark     string          `json:"mark"`     // value of markName
	PartSize int64           `json:"partSize"` // of this upload
	Parts    int             `json:"parts"`    // that the server has
	From     int64           `json:"from"`     // position in the object of the first byte in the file tail
	Result   json.RawMessage `json:"result,omitempty"`
}

// Upload writes an object. Close keeps all that another call of OpenUpload needs. Goroutines may not share it.
type Upload struct {
	client  *Client
	folder  string
	options UploadOptions
	unlock  func()
	state   uploadState
	tail    *os.File // bytes behind state.From
	size    int64    // of the object
	isDone  bool
}

// Folder returns the folder below parent for an upload of the client's object. It differs by endpoint.
func (c *Client) Folder(parent string) string {
	sum := sha256.Sum256([]byte(c.endpoint + "\n" + c.address.String()))
	return filepath.Join(parent, hex.EncodeToString(sum[:12]))
}

// OpenUpload opens the upload whose state is in folder, or begins one there. An upload that the server does not know any
// more begins again; Size is 0 then.
func (c *Client) OpenUpload(ctx context.Context, folder string, o UploadOptions) (*Upload, error) {
	if err := c.CheckCredentials(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	unlock, err := files.TryLock(filepath.Join(folder, lockName))
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%w)", c.address, ErrBusy, err)
	}
	u := &Upload{client: c, folder: folder, options: o, unlock: unlock}
	if err = u.readState(ctx); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// readState reads the folder, and asks the server whether it has the parts.
func (u *Upload) readState(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(u.folder, stateName))
	if err == nil {
		err = json.Unmarshal(text, &u.state)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return u.Reset(ctx)
	}
	if err == nil {
		err = u.openTail(os.O_RDWR)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return u.Reset(ctx)
	case err != nil:
		return err
	case u.size < u.Sent(): // a file system lost it
		return u.Reset(ctx)
	}
	if u.isDone, err = u.isCompleted(ctx); err != nil || u.isDone || u.state.ID == "" {
		return err
	}
	parts, err := u.listParts(ctx)
	if isUnknown(err) || err == nil && len(parts) < u.state.Parts {
		return u.Reset(ctx)
	}
	return err
}

// openTail opens the file with the bytes behind state.From.
func (u *Upload) openTail(flags int) error {
	tail, err := os.OpenFile(u.tailPath(u.state.From), flags, 0o600)
	if err != nil {
		return err
	}
	end, err := tail.Seek(0, io.SeekEnd)
	u.tail, u.size = tail, u.state.From+end
	return err
}

func (u *Upload) tailPath(from int64) string {
	return filepath.Join(u.folder, fmt.Sprintf("%s-%d", tailName, from))
}

// Sent returns the bytes that the server has in parts: an upload cannot be cut before them.
func (u *Upload) Sent() int64 { return int64(u.state.Parts) * u.state.PartSize }

// Size returns the bytes that were written.
func (u *Upload) Size() int64 { return u.size }

// IsDone reports whether the object was completed by a process that ended before it could tell.
func (u *Upload) IsDone() bool { return u.isDone }

// Result sets into to the value that Complete was given.
func (u *Upload) Result(into any) error { return json.Unmarshal(u.state.Result, into) }

// isCompleted asks the server whether the object is the one of this upload.
func (u *Upload) isCompleted(ctx context.Context) (bool, error) {
	if u.state.Result == nil {
		return false, nil
	}
	info, found, err := u.client.statObject(ctx)
	return found && info.UserMetadata[markName] == u.state.Mark, err
}

// Reset ends the upload and begins another one, without bytes.
func (u *Upload) Reset(ctx context.Context) error {
	if err := u.abort(ctx); err != nil {
		return err
	}
	u.closeTail()
	if err := u.removeFiles(); err != nil {
		return err
	}
	u.state, u.size, u.isDone = uploadState{Mark: rand.Text(), PartSize: PartSize}, 0, false
	if err := u.openTail(os.O_RDWR | os.O_CREATE | os.O_TRUNC); err != nil {
		return err
	}
	return u.storeState()
}

// abort lets the server drop the parts.
func (u *Upload) abort(ctx context.Context) error {
	if u.state.ID == "" {
		return nil
	}
	err := u.client.core.AbortMultipartUpload(ctx, u.client.address.Bucket, u.client.address.Key, u.state.ID)
	if isUnknown(err) {
		err = nil
	}
	return u.client.explain("abort the upload of", err)
}

// isUnknown reports whether the server does not know an upload.
func isUnknown(err error) bool {
	return err != nil && minio.ToErrorResponse(err).Code == minio.NoSuchUpload
}

// removeFiles removes state and bytes.
func (u *Upload) removeFiles() error {
	names, err := filepath.Glob(filepath.Join(u.folder, tailName+"-*"))
	for _, name := range append(names, filepath.Join(u.folder, stateName)) {
		err = errors.Join(err, files.IgnoreMissing(os.Remove(name)))
	}
	return err
}

func (u *Upload) storeState() error {
	text, err := json.Marshal(u.state)
	if err != nil {
		return err
	}
	return files.WriteUnsynced(filepath.Join(u.folder, stateName), text, 0o600)
}

// Cut drops the bytes behind size, which is not less than Sent and not more than Size.
func (u *Upload) Cut(size int64) error {
	if size < u.Sent() || size > u.size {
		return fmt.Errorf("%s: cannot continue at byte %d: the server has %d, the folder %s ends at %d", u.client.address, size, u.Sent(), u.folder, u.size)
	}
	if err := u.tail.Truncate(size - u.state.From); err != nil {
		return err
	}
	u.size = size
	_, err := u.tail.Seek(0, io.SeekEnd)
	return err
}

// Write appends to the file in the folder.
func (u *Upload) Write(p []byte) (int, error) {
	n, err := u.tail.Write(p)
	u.size += int64(n)
	return n, err
}

// ReadAt reads what was written, if the upload keeps its copy.
func (u *Upload) ReadAt(p []byte, off int64) (int, error) {
	if off < u.state.From {
		return 0, fmt.Errorf("%s: byte %d is on the server only", u.client.address, off)
	}
	return u.tail.ReadAt(p, off-u.state.From)
}

// Send sends whole parts of the first size bytes, and drops them from the folder.
func (u *Upload) Send(ctx context.Context, size int64) error {
	for u.Sent()+u.state.PartSize <= size {
		if err := u.beginParts(ctx); err != nil {
			return err
		}
		if err := u.sendPart(ctx, u.state.PartSize); err != nil {
			return err
		}
		u.state.Parts++
		if err := u.storeState(); err != nil {
			return err
		}
	}
	return u.dropSent()
}

// beginParts begins the upload at the server.
func (u *Upload) beginParts(ctx context.Context) (err error) {
	if u.state.ID != "" {
		return nil
	}
	u.state.ID, err = u.client.core.NewMultipartUpload(ctx, u.client.address.Bucket, u.client.address.Key, u.objectValues())
	if err != nil {
		return u.client.explain("begin the upload of", err)
	}
	return u.storeState()
}

// objectValues are the values that the object gets.
func (u *Upload) objectValues() minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: u.options.ContentType, UserMetadata: map[string]string{markName: u.state.Mark}, DisableContentSha256: true}
}

// sendPart sends the next bytes as a part. The server checks its SHA-256.
func (u *Upload) sendPart(ctx context.Context, size int64) error {
	number := u.state.Parts + 1
	if number > mostParts {
		return fmt.Errorf("%s would have more than %d parts of %s; export less at once", u.client.address, mostParts, files.Bytes(u.state.PartSize))
	}
	body, sum, err := u.hashTail(u.Sent(), size)
	if err != nil {
		return err
	}
	_, err = u.client.core.PutObjectPart(ctx, u.client.address.Bucket, u.client.address.Key, u.state.ID, number, body, size,
		minio.PutObjectPartOptions{Sha256Hex: sum, DisableContentSha256: true})
	return u.client.explain("send a part of", err)
}

// hashTail returns a reader of bytes of the file, and their SHA-256.
func (u *Upload) hashTail(from, size int64) (io.Reader, string, error) {
	body := io.NewSectionReader(u.tail, from-u.state.From, size)
	sum := sha256.New()
	if n, err := io.Copy(sum, body); err != nil || n != size {
		return nil, "", errors.Join(err, fmt.Errorf("%s has %d bytes of %d", u.tail.Name(), n, size))
	}
	_, err := body.Seek(0, io.SeekStart)
	return body, hex.EncodeToString(sum.Sum(nil)), err
}

// dropSent removes bytes that the server has from the folder: the remaining ones go to another file, whose name the
// state has then.
func (u *Upload) dropSent() error {
	from := u.Sent()
	if u.options.KeepsCopy || from == u.state.From {
		return nil
	}
	next, err := os.OpenFile(u.tailPath(from), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(next, io.NewSectionReader(u.tail, from-u.state.From, u.size-from)); err != nil {
		return errors.Join(err, next.Close())
	}
	last := u.tail
	u.tail, u.state.From = next, from
	if err := u.storeState(); err != nil {
		return errors.Join(err, last.Close())
	}
	return errors.Join(last.Close(), os.Remove(last.Name()))
}

// listParts returns the parts that the server has, without those that are not in the state.
func (u *Upload) listParts(ctx context.Context) (parts []minio.CompletePart, err error) {
	const atOnce = 1000
	for marker := 0; ; {
		list, err := u.client.core.ListObjectParts(ctx, u.client.address.Bucket, u.client.address.Key, u.state.ID, marker, atOnce)
		if err != nil {
			return nil, err
		}
		for _, p := range list.ObjectParts {
			if p.PartNumber != len(parts)+1 {
				return parts, nil
			}
			parts = append(parts, minio.CompletePart{PartNumber: p.PartNumber, ETag: p.ETag})
		}
		if !list.IsTruncated {
			return parts, nil
		}
		marker = list.NextPartNumberMarker
	}
}

// Complete sends the remaining bytes; then the object appears. result is for Result, if this process ends before it can
// tell. Without replaces, an object that another program has written meanwhile is an error.
func (u *Upload) Complete(ctx context.Context, result any, replaces bool) (err error) {
	if u.state.Result, err = json.Marshal(result); err != nil {
		return err
	}
	if err := errors.Join(u.Send(ctx, u.size), u.storeState()); err != nil {
		return err
	}
	if u.state.Parts == 0 {
		return u.putWhole(ctx, replaces)
	}
	wanted := u.state.Parts
	if rest := u.size - u.Sent(); rest > 0 {
		if err := u.sendPart(ctx, rest); err != nil {
			return err
		}
		wanted++
	}
	parts, err := u.listParts(ctx)
	if err != nil {
		return u.client.explain("list the parts of", err)
	}
	if len(parts) < wanted {
		return fmt.Errorf("%s: the server has %d parts of %d; try again", u.client.address, len(parts), wanted)
	}
	_, err = u.client.core.CompleteMultipartUpload(ctx, u.client.address.Bucket, u.client.address.Key, u.state.ID, parts[:wanted], withCondition(minio.PutObjectOptions{}, replaces))
	return u.checkCompleted(ctx, err)
}

// withCondition adds to a request that no object may exist, unless it replaces one.
func withCondition(o minio.PutObjectOptions, replaces bool) minio.PutObjectOptions {
	if !replaces {
		o.SetMatchETagExcept("*")
	}
	return o
}

// putWhole sends an object that is smaller than a part.
func (u *Upload) putWhole(ctx context.Context, replaces bool) error {
	body, sum, err := u.hashTail(0, u.size)
	if err != nil {
		return err
	}
	_, err = u.client.core.PutObject(ctx, u.client.address.Bucket, u.client.address.Key, body, u.size, "", sum, withCondition(u.objectValues(), replaces))
	return u.checkCompleted(ctx, err)
}

// checkCompleted looks at the object after an error, because the answer to a request that succeeded may have been lost.
func (u *Upload) checkCompleted(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if done, asked := u.isCompleted(ctx); asked == nil && done {
		return nil
	}
	return u.client.explain("complete", err)
}

// Remove removes the folder of an upload that is complete.
func (u *Upload) Remove() error {
	u.closeTail()
	return errors.Join(u.removeFiles(), os.RemoveAll(u.folder))
}

// Close closes the files.
func (u *Upload) Close() {
	u.closeTail()
	if u.unlock != nil {
		u.unlock()
	}
	u.unlock = nil
}

func (u *Upload) closeTail() {
	if u.tail != nil {
		_ = u.tail.Close() // Send and Complete read what they need before
	}
	u.tail = nil
}

// DropUploads lets the server drop all uploads of the object that are not complete, of whichever program, and removes the
// folder. It returns their number.
func (c *Client) DropUploads(ctx context.Context, folder string) (n int, err error) {
	if err := c.CheckCredentials(); err != nil {
		return 0, err
	}
	unlock := func() {}
	if _, err := os.Stat(folder); err == nil {
		if unlock, err = files.TryLock(filepath.Join(folder, lockName)); err != nil {
			return 0, fmt.Errorf("%s: %w (%w)", c.address, ErrBusy, err)
		}
	}
	defer func() { unlock() }()
	for key, id := "", ""; ; {
		list, err := c.core.ListMultipartUploads(ctx, c.address.Bucket, c.address.Key, key, id, "", 1000)
		if err != nil {
			return n, c.explain("list the uploads of", err)
		}
		for _, found := range list.Uploads {
			if found.Key != c.address.Key {
				continue
			}
			if err := c.core.AbortMultipartUpload(ctx, c.address.Bucket, c.address.Key, found.UploadID); err != nil && !isUnknown(err) {
				return n, c.explain("abort an upload of", err)
			}
			n++
		}
		if key, id = list.NextKeyMarker, list.NextUploadIDMarker; !list.IsTruncated {
			return n, os.RemoveAll(folder)
		}
	}
}
