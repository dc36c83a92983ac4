package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hce/dc/internal/cli/objectstore"
)

// objectFolder returns the folder with the states of exports to objects.
func objectFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the state of an upload: %w", err)
	}
	return filepath.Join(cache, "hce", "s3"), nil
}

// positionName is the file with the position in the folder of an upload.
const positionName = "export.json"

// objectEnd is what the state of an upload says of a complete export.
type objectEnd struct {
	Pages   int64 `json:"pages"`
	Damaged int64 `json:"damaged"`
}

// contentTypes are those of objects by format.
var contentTypes = map[string]string{
	"jsonl": "application/jsonl", "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "sitemap": "application/xml", "warc": "application/warc", "wacz": "application/wacz",
}

// chooseForObject returns the format of an output that is an object.
func chooseForObject(name, out string) (Format, error) {
	if _, err := objectstore.ParseAddress(out); err != nil {
		return Format{}, err
	}
	if strings.HasSuffix(out, "/") {
		return Format{}, fmt.Errorf("%s is the name of a folder, and an export to s3:// is one object; name it, such as %spages.jsonl", out, out)
	}
	format, err := chooseByName(name, out, false)
	if err == nil && format.Folder {
		return format, fmt.Errorf("%s: format %s writes a folder, and an export to s3:// is one object; write a folder, and copy it with a program of the store, or choose another format", out, format.Name)
	}
	return format, err
}

// openClient returns a client of the object of a job, and the folder of its upload.
func openClient(out string) (*objectstore.Client, string, error) {
	client, err := objectstore.Open(out)
	if err != nil {
		return nil, "", err
	}
	parent, err := objectFolder()
	return client, client.Folder(parent), err
}

// AbortUpload lets the server drop what interrupted exports to an object have sent, and forgets them. It returns how many
// uploads it has dropped.
func AbortUpload(ctx context.Context, out string) (int, error) {
	client, folder, err := openClient(out)
	if err != nil {
		return 0, err
	}
	return client.DropUploads(ctx, folder)
}

// checkObject refuses an object that cannot be written, or must not be replaced.
func checkObject(ctx context.Context, job Job) error {
	client, folder, err := openClient(job.Out)
	if err == nil {
		err = client.CheckCredentials()
	}
	if err != nil {
		return err
	}
	found, err := client.Exists(ctx)
	if err != nil {
		return err
	}
	_, interrupted := os.Stat(filepath.Join(folder, positionName))
	if found && !job.Force && interrupted != nil {
		return errReplaces
	}
	return nil
}

var errReplaces = fmt.Errorf("%w; give another name, or replace it with --force", ErrExists)

// openUpload opens the upload of an object, at its start or where an interrupted run of the same job has ended.
func (o *output) openUpload(ctx context.Context, job Job) error {
	client, folder, err := openClient(job.Out)
	if err != nil {
		return err
	}
	if err := checkObject(ctx, job); err != nil {
		return err
	}
	contentType := contentTypes[job.Format.Name]
	if strings.HasSuffix(strings.ToLower(job.Out), ".gz") {
		contentType = "application/gzip"
	}
	if o.upload, err = client.OpenUpload(ctx, folder, objectstore.UploadOptions{ContentType: contentType, KeepsCopy: job.Format.Rereads}); err != nil {
		return err
	}
	o.state, o.scratch = filepath.Join(folder, positionName), filepath.Join(folder, "scratch")
	begun := o.at
	continues, err := o.readPosition(job)
	if err != nil {
		return err
	}
	if continues && o.upload.IsDone() {
		var end objectEnd
		err := o.upload.Result(&end)
		o.at.Pages, o.at.Damaged, o.isWhole = end.Pages, end.Damaged, true
		return err
	}
	if !continues || o.at.Bytes == 0 || o.at.Bytes < o.upload.Sent() || o.at.Bytes > o.upload.Size() { // the last two: of a format that restarts, or lost
		begun.Where = o.at.Where
		o.at = begun
		return errors.Join(o.upload.Reset(ctx), ignoreMissing(os.Remove(o.state)))
	}
	return o.upload.Cut(o.at.Bytes)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sendPortion sends what the position covers. Of a format that restarts, that is all.
func (o *output) sendPortion(ctx context.Context, f Format) error {
	switch {
	case o.upload == nil:
		return nil
	case f.Restarts:
		return o.upload.Send(ctx, o.upload.Size())
	}
	return o.upload.Send(ctx, o.at.Bytes)
}

// completeObject lets the object appear, and removes the state.
func (o *output) completeObject(ctx context.Context, job Job) error {
	if !o.isWhole {
		if err := o.upload.Complete(ctx, objectEnd{o.at.Pages, o.at.Damaged}, job.Force); err != nil {
			return err
		}
	}
	return o.upload.Remove()
}

// rereader is an output that can be read again.
type rereader interface {
	io.Writer
	io.ReaderAt
}
