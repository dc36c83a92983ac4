package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

const (
	chunkSize = 512 << 10
	// MaxObject limits an object, in bytes.
	MaxObject = 256 << 20

	// replicaLag is how long a server of several may not know yet what another one has stored: any of
	// them answers a read.
	replicaLag  = 5 * time.Second
	replicaPoll = 50 * time.Millisecond
)

// Objects carry data above MaxPayload from one name to another, as chunks in the stream LARGE. An
// object that is not deleted ends after 48 hours. It may be used by any number of goroutines.
type Objects struct {
	conn *Conn
}

// manifest ends an object: it exists when its manifest is stored.
type manifest struct {
	Size   int    `json:"size"`
	Chunks int    `json:"chunks"`
	SHA256 []byte `json:"sha256"`
}

// Objects opens the bucket "large", which is the only one.
func (c *Conn) Objects(_ context.Context, bucket string) (*Objects, error) {
	if bucket != "large" {
		return nil, fmt.Errorf("open bucket %s: %w", bucket, ErrNotFound)
	}
	return &Objects{c}, nil
}

// Put stores data for the reader to, a node or Head, and returns its reference. When it returns
// nil, the object is on disk. Of a Put that is killed, chunks without a reference remain until
// they expire. A node can send only to the head.
func (o *Objects) Put(ctx context.Context, to string, data []byte) (ref string, err error) {
	if len(data) > MaxObject {
		return "", fmt.Errorf("put object of %d bytes: larger than %d", len(data), MaxObject)
	}
	ref = o.conn.name + "." + to + "." + nuid.Next()
	m := manifest{Size: len(data), Chunks: (len(data) + chunkSize - 1) / chunkSize}
	sum := sha256.Sum256(data)
	m.SHA256 = sum[:]
	for n := range m.Chunks {
		if err := o.conn.Publish(ctx, chunkSubject(ref, n), "", data[n*chunkSize:min((n+1)*chunkSize, len(data))]); err != nil {
			return "", fmt.Errorf("put object: %w", err)
		}
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = o.conn.Publish(ctx, "large."+ref+".end", "", text)
	}
	if err != nil {
		return "", fmt.Errorf("put object: %w", err)
	}
	return ref, nil
}

// Get returns an object, after it has compared its SHA-256. ErrNotFound: it was deleted or expired,
// which takes replicaLag to tell.
func (o *Objects) Get(ctx context.Context, ref string) ([]byte, error) {
	data, err := o.get(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("get object %.200s: %w", ref, err)
	}
	return data, nil
}

func (o *Objects) get(ctx context.Context, ref string) ([]byte, error) {
	if !isReference(ref) {
		return nil, errors.New("not a reference of an object")
	}
	text, err := o.readMessage(ctx, "large."+ref+".end")
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Size < 0 || m.Size > MaxObject || m.Chunks != (m.Size+chunkSize-1)/chunkSize {
		return nil, fmt.Errorf("damaged manifest (%v)", err)
	}
	var data bytes.Buffer
	data.Grow(m.Size)
	for n := range m.Chunks {
		chunk, err := o.readMessage(ctx, chunkSubject(ref, n))
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", n, err)
		}
		data.Write(chunk)
	}
	if sum := sha256.Sum256(data.Bytes()); !bytes.Equal(sum[:], m.SHA256) {
		return nil, errors.New("its SHA-256 differs")
	}
	return data.Bytes(), nil
}

// readMessage returns the last message on a subject of the stream LARGE. The reference says that it was
// stored, so a server without it is behind the others.
func (o *Objects) readMessage(ctx context.Context, subject string) ([]byte, error) {
	for end := time.Now().Add(replicaLag); ; {
		data, err := o.readOnce(ctx, subject)
		if !errors.Is(err, ErrNotFound) || time.Now().After(end) {
			return data, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(replicaPoll):
		}
	}
}

func (o *Objects) readOnce(ctx context.Context, subject string) ([]byte, error) {
	m, err := o.conn.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + streamLarge + "." + subject})
	if err != nil {
		return nil, err
	}
	switch status := m.Header.Get("Status"); status {
	case "":
		return m.Data, nil
	case "404":
		return nil, ErrNotFound
	default:
		return nil, fmt.Errorf("status %s %s", status, m.Header.Get("Description"))
	}
}

// Delete removes an object; only the head may call it. A missing object is not an error.
func (o *Objects) Delete(ctx context.Context, ref string) error {
	if !isReference(ref) {
		return fmt.Errorf("delete object %.200s: not a reference of an object", ref)
	}
	if err := o.conn.purgeSubject(ctx, streamLarge, "large."+ref+".>"); err != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	return nil
}

func chunkSubject(ref string, n int) string { return "large." + ref + "." + strconv.Itoa(n) }

// isReference keeps wildcards out of subjects that are built of a reference.
func isReference(ref string) bool {
	parts := strings.Split(ref, ".")
	if len(parts) != 3 {
		return false
	}
	for _, p := range parts {
		if !usableName.MatchString(p) {
			return false
		}
	}
	return true
}
