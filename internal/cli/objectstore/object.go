package objectstore

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/minio/minio-go/v7"
)

// mostBreaks is how many connections may break in a row without a byte.
const mostBreaks = 5

// Object is an object that is read: one request for all bytes behind a position. When the connection breaks, another one
// continues behind the last byte. An object that changes meanwhile is an error. Goroutines may share it.
type Object struct {
	ctx    context.Context // of the reading, whose methods have none
	client *Client
	etag   string
	size   int64

	mu     sync.Mutex // guards the rest
	next   int64      // position of Read
	at     int64      // position of body
	body   io.ReadCloser
	breaks int
}

// OpenObject opens the object until ctx ends. The caller closes it.
func (c *Client) OpenObject(ctx context.Context) (*Object, error) {
	info, found, err := c.statObject(ctx)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &Error{Op: "read", Address: c.address, Endpoint: c.endpoint, Code: minio.NoSuchKey}
	}
	return &Object{ctx: ctx, client: c, etag: info.ETag, size: info.Size}, nil
}

// Size returns the bytes of the object.
func (o *Object) Size() int64 { return o.size }

// Close ends the reading.
func (o *Object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closeBody()
}

func (o *Object) closeBody() error {
	if o.body == nil {
		return nil
	}
	err := o.body.Close()
	o.body = nil
	return err
}

// Read reads the next bytes.
func (o *Object) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.readFrom(p, o.next)
	o.next += int64(n)
	return n, err
}

// ReadAt reads bytes at a position. Calls for bytes behind those of the last call share its request.
func (o *Object) ReadAt(p []byte, off int64) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n < len(p) && err == nil {
		var more int
		more, err = o.readFrom(p[n:], off+int64(n))
		n += more
	}
	if n == len(p) {
		return n, nil
	}
	return n, err
}

// readFrom reads some bytes at a position.
func (o *Object) readFrom(p []byte, off int64) (int, error) {
	if off >= o.size {
		return 0, io.EOF
	}
	for len(p) > 0 {
		if err := o.openBody(off); err != nil {
			return 0, err
		}
		n, err := o.body.Read(p)
		o.at += int64(n)
		if n > 0 {
			o.breaks = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		_ = o.closeBody() // it is broken
		if o.breaks++; o.breaks > mostBreaks || o.ctx.Err() != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, o.client.explain("read", err)
		}
	}
	return 0, nil
}

// openBody makes body the bytes at a position.
func (o *Object) openBody(off int64) error {
	if o.body != nil && o.at == off {
		return nil
	}
	_ = o.closeBody() // its other bytes are not needed
	var options minio.GetObjectOptions
	if err := errors.Join(options.SetRange(off, o.size-1), options.SetMatchETag(o.etag)); err != nil {
		return err
	}
	body, _, _, err := o.client.core.GetObject(o.ctx, o.client.address.Bucket, o.client.address.Key, options)
	if err != nil {
		return o.client.explain("read", err)
	}
	o.body, o.at = body, off
	return nil
}
