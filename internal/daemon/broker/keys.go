package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"hce/dc/internal/files"
)

const (
	listFile   = "nodes.list"
	headSeed   = "head.seed"
	maxKeyFile = 64 << 10 // bytes
)

// Keys is the folder of the cluster's keys: head.seed, the secret of the head, and nodes.list,
// one line "PUBLIC NAME" for the head and for each node. Its seeds of nodes are not kept: AddNode
// returns them once. Keys follows changes that other processes make. It may be used by any
// number of goroutines.
type Keys struct {
	folder string

	mu     sync.Mutex
	stamp  fileStamp
	byKey  map[string]string // public key to name
	broken error             // why the list cannot be read; then no client may connect
}

// fileStamp tells whether a file changed.
type fileStamp struct {
	modified time.Time
	size     int64
	inode    uint64
}

// Key is one line of the list.
type Key struct {
	Name, Public string
}

// OpenKeys opens a folder of keys, and creates it (mode 0700) with the key of the head if missing.
func OpenKeys(folder string) (*Keys, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open cluster keys: %w", err)
	}
	k := &Keys{folder: folder}
	if err := k.ensureHead(); err != nil {
		return nil, fmt.Errorf("open cluster keys %s: %w", folder, err)
	}
	return k, nil
}

// ensureHead creates what is missing: the secret of the head, or its line in the list, which a
// kill between the two leaves out.
func (k *Keys) ensureHead() error {
	unlock, err := k.lockFolder()
	if err != nil {
		return err
	}
	defer unlock()
	path := k.HeadSeed()
	seed, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		if seed, _, err = newSeed(); err == nil {
			err = files.Write(path, append(seed, '\n'), 0o600)
		}
	}
	if err != nil {
		return err
	}
	public, err := publicOf(seed)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return k.editKeys(func(list []Key) ([]Key, error) {
		list = slices.DeleteFunc(list, func(key Key) bool { return key.Name == Head })
		return append([]Key{{Head, public}}, list...), nil
	})
}

// HeadSeed is the path of the secret of the head.
func (k *Keys) HeadSeed() string { return filepath.Join(k.folder, headSeed) }

// AddNode creates the key of a node and returns its seed, the secret, which is stored nowhere. It
// is an error that wraps fs.ErrExist if the name is known; RemoveNode it first for a new key.
func (k *Keys) AddNode(name string) (seed string, err error) {
	if err := CheckName(name); err != nil {
		return "", fmt.Errorf("add node: %w", err)
	}
	secret, public, err := newSeed()
	if err == nil {
		err = k.lockedChange(func(list []Key) ([]Key, error) {
			if slices.ContainsFunc(list, func(key Key) bool { return strings.EqualFold(key.Name, name) }) {
				return nil, fmt.Errorf("%w: remove the node first to give it a new key", fs.ErrExist)
			}
			return append(list, Key{name, public}), nil
		})
	}
	if err != nil {
		return "", fmt.Errorf("add node %s: %w", name, err)
	}
	return string(secret), nil
}

// RemoveNode revokes the key of a node: the server ends its connections within a second. It is
// an error that wraps fs.ErrNotExist if the name is unknown.
func (k *Keys) RemoveNode(name string) error {
	if name == Head {
		return errors.New("remove node: the key of the head cannot be removed")
	}
	err := k.lockedChange(func(list []Key) ([]Key, error) {
		kept := slices.DeleteFunc(slices.Clone(list), func(key Key) bool { return key.Name == name })
		if len(kept) == len(list) {
			return nil, fmt.Errorf("%w: no such node", fs.ErrNotExist)
		}
		return kept, nil
	})
	if err != nil {
		return fmt.Errorf("remove node %s: %w", name, err)
	}
	return nil
}

// List returns all keys, the head first, then the nodes in the order of AddNode.
func (k *Keys) List() ([]Key, error) {
	raw, err := readBounded(filepath.Join(k.folder, listFile))
	if err != nil {
		return nil, fmt.Errorf("list cluster keys: %w", err)
	}
	return parseList(raw)
}

// Nodes returns the names of all nodes, without the head.
func (k *Keys) Nodes() ([]string, error) {
	list, err := k.List()
	var names []string
	for _, key := range list {
		if key.Name != Head {
			names = append(names, key.Name)
		}
	}
	return names, err
}

// nameOf returns the name of a public key, or why no client may connect.
func (k *Keys) nameOf(public string) (name string, known bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refreshKeys()
	name, known = k.byKey[public]
	return name, known, k.broken
}

// refreshKeys reads the list if its file changed. The mutex must be held. An unreadable list
// allows no client.
func (k *Keys) refreshKeys() (changed bool) {
	stamp := stampOf(filepath.Join(k.folder, listFile))
	if stamp == k.stamp && k.byKey != nil {
		return false
	}
	k.stamp, k.byKey = stamp, map[string]string{}
	list, err := k.List()
	k.broken = err
	for _, key := range list {
		k.byKey[key.Public] = key.Name
	}
	return true
}

// lockFolder waits for other processes that change the folder.
func (k *Keys) lockFolder() (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return files.Lock(ctx, filepath.Join(k.folder, ".lock"))
}

func (k *Keys) lockedChange(edit func([]Key) ([]Key, error)) error {
	unlock, err := k.lockFolder()
	if err != nil {
		return err
	}
	defer unlock()
	return k.editKeys(edit)
}

// editKeys edits the list and writes it if it differs. The lock must be held.
func (k *Keys) editKeys(edit func([]Key) ([]Key, error)) error {
	path := filepath.Join(k.folder, listFile)
	raw, err := readBounded(path)
	if err = files.IgnoreMissing(err); err != nil {
		return err
	}
	list, err := parseList(raw)
	if err == nil {
		list, err = edit(list)
	}
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, key := range list {
		fmt.Fprintf(&text, "%s %s\n", key.Public, key.Name)
	}
	if bytes.Equal(text.Bytes(), raw) {
		return nil
	}
	return files.Write(path, text.Bytes(), 0o600)
}

// parseList parses lines "PUBLIC NAME". One wrong line makes the whole list wrong: a list that is
// edited by hand must not lose a node in silence.
func parseList(raw []byte) ([]Key, error) {
	var list []Key
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) != 2 || !nkeys.IsValidPublicUserKey(words[0]) || words[1] != Head && CheckName(words[1]) != nil {
			return nil, fmt.Errorf("line %d of %s is not a public key and a name", n, listFile)
		}
		list = append(list, Key{Public: words[0], Name: words[1]})
	}
	return list, nil
}

func newSeed() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	if seed, err = pair.Seed(); err == nil {
		public, err = pair.PublicKey()
	}
	return seed, public, err
}

// publicOf returns the public key of a seed.
func publicOf(seed []byte) (string, error) {
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return "", fmt.Errorf("not a seed of an nkey: %w", err)
	}
	public, err := pair.PublicKey()
	if err == nil && !nkeys.IsValidPublicUserKey(public) {
		err = errors.New("a seed of another kind of nkey than a user's")
	}
	return public, err
}
