package storage

import (
	"context"
	"fmt"
	"os"
	"sync"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// maxPlacement bounds the file of a placement (bytes).
const maxPlacement = 1 << 20

// placementFile is the file with the owners of hosts, which the agent of the node replaces as a
// whole. It is read again when it is another file or has another time or size. A file that is missing
// or invalid is an error of everything that changes rows, never "all hosts are mine". Goroutines may
// share it.
type placementFile struct {
	path string

	mu    sync.Mutex
	info  os.FileInfo // of value; nil: nothing was read
	value placement.Placement
}

// newPlacementFile returns nil without a path: there is no cluster.
func newPlacementFile(path string) *placementFile {
	if path == "" {
		return nil
	}
	return &placementFile{path: path}
}

// readPlacement returns the placement of now. It costs a look at the file (about 2 µs). The error is a
// placement.ErrInvalid, which is critical.
func (f *placementFile) readPlacement() (placement.Placement, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err == nil && f.info != nil && os.SameFile(info, f.info) && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size() {
		return f.value, nil
	}
	var data []byte
	if err == nil && info.Size() > maxPlacement {
		err = fmt.Errorf("it has %d bytes; at most %d are possible", info.Size(), maxPlacement)
	}
	if err == nil {
		data, err = os.ReadFile(f.path)
	}
	var p placement.Placement
	if err == nil {
		p, err = placement.Parse(data)
	}
	if err != nil {
		f.info = nil
		return p, fmt.Errorf("%w: read %s, which the key placement of db-task.ini names: %w; the agent of dc-node writes it: start it, or leave the key empty without a cluster",
			placement.ErrInvalid, f.path, err)
	}
	f.info, f.value = info, p
	return p, nil
}

// Placement returns which node of a cluster owns which host now; without a cluster the zero value.
func (repo *Repository) Placement() (placement.Placement, error) {
	if repo.place == nil {
		return placement.Placement{}, nil
	}
	return repo.place.readPlacement()
}

// storesHere reports whether a content of URL_PUT is stored on this node. In a cluster URL_PUT
// reaches all nodes, and its key says nothing about the host: the node with the row stores it.
func (repo *Repository) storesHere(ctx context.Context, r wire.URLPutRequest) (bool, error) {
	p, err := repo.Placement()
	if err != nil || !p.Active() {
		return err == nil, err
	}
	known, err := repo.KnownURLs(ctx, r.SiteID, []string{r.URLMd5})
	if wire.CodeOf(err) == wire.CodeNotFound {
		return false, nil
	}
	return known[r.URLMd5], err
}
