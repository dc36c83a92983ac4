// Package apikeys keeps the keys of the API: who may do what with which sites. A key is shown once, when it is made; the file has
// its hash only.
//
//	store := apikeys.Store{Dir: folder}
//	secret, key, err := store.New(ctx, apikeys.Key{Scope: apikeys.Read, Name: "dashboard"})
//	key, err = store.Find(secret) // in each request; a key that was revoked is unknown at once
package apikeys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/files"
)

// Scope is what a key allows. Each scope allows what the one before it does.
type Scope string

// Scopes.
const (
	Read  Scope = "read"  // read everything
	Crawl Scope = "crawl" // ask for pages, create and change sites
	Admin Scope = "admin" // keys and webhooks too
)

// Scopes are all scopes, in their order.
var Scopes = []Scope{Read, Crawl, Admin}

// Allows reports whether a key with this scope may do what needs another one.
func (s Scope) Allows(needed Scope) bool {
	return slices.Index(Scopes, s) >= slices.Index(Scopes, needed) && slices.Contains(Scopes, s)
}

// Key is what is known about a key.
type Key struct {
	Prefix  string     `json:"prefix"` // the beginning of the key, which names it
	Name    string     `json:"name,omitempty"`
	Scope   Scope      `json:"scope"`
	Sites   []string   `json:"sites,omitempty"` // ids; none: all sites
	Created time.Time  `json:"created"`
	Used    *time.Time `json:"lastUsed,omitempty"` // to the minute
}

// AllowsSite reports whether the key may see a site.
func (k Key) AllowsSite(id string) bool { return len(k.Sites) == 0 || slices.Contains(k.Sites, id) }

// stored is a key in the file.
type stored struct {
	Key
	Hash string `json:"hash"` // SHA-256 of the whole key, hexadecimal: its 160 random bits need no slow hash
}

// Store is the file of the keys in a folder. Processes may share it, and goroutines its methods.
type Store struct {
	Dir string

	mu    sync.Mutex
	state os.FileInfo // of the file that was read
	keys  map[string]stored
	used  map[string]time.Time // by prefix, not written yet
	wrote time.Time
}

// ErrUnknown means that there is no such key: it is mistyped, or revoked.
var ErrUnknown = errors.New("the key is not known")

const (
	fileName   = "keys.json"
	usedName   = "used.json" // last uses, which only the daemon writes
	marker     = "hce_"
	maxKeys    = 10_000
	usedEvery  = time.Minute
	prefixSize = 8
)

// New makes a key and stores it. The secret is known to the caller only.
func (s *Store) New(ctx context.Context, k Key) (secret string, made Key, err error) {
	if !slices.Contains(Scopes, k.Scope) {
		return "", k, fmt.Errorf("scope %q is not one of read, crawl, admin", k.Scope)
	}
	k.Prefix = strings.ToLower(rand.Text()[:prefixSize])
	secret = marker + k.Prefix + "_" + rand.Text() + rand.Text()[:6]
	k.Created = time.Now().UTC().Truncate(time.Second)
	err = s.change(ctx, func(list []stored) ([]stored, error) {
		if len(list) >= maxKeys {
			return nil, fmt.Errorf("there are %d keys; revoke some", len(list))
		}
		return append(list, stored{k, hashOf(secret)}), nil
	})
	return secret, k, err
}

// Revoke removes a key, which its prefix or the whole key names.
func (s *Store) Revoke(ctx context.Context, prefix string) error {
	prefix, _, _ = strings.Cut(strings.TrimPrefix(prefix, marker), "_")
	return s.change(ctx, func(list []stored) ([]stored, error) {
		left := slices.DeleteFunc(slices.Clone(list), func(k stored) bool { return k.Prefix == prefix })
		if len(left) == len(list) {
			return nil, fmt.Errorf("%w: %s", ErrUnknown, prefix)
		}
		return left, nil
	})
}

// List returns all keys, the oldest first.
func (s *Store) List() ([]Key, error) {
	list, err := s.readFile()
	if err != nil {
		return nil, err
	}
	used := map[string]time.Time{}
	if text, err := os.ReadFile(filepath.Join(s.Dir, usedName)); err == nil {
		_ = json.Unmarshal(text, &used) // a damaged file says nothing
	}
	keys := make([]Key, len(list))
	for i, k := range list {
		if at, ok := used[k.Prefix]; ok {
			k.Used = &at
		}
		keys[i] = k.Key
	}
	return keys, nil
}

// Find returns the key with this secret and notes its use.
func (s *Store) Find(secret string) (Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return Key{}, err
	}
	k, known := s.keys[hashOf(secret)]
	if !known {
		return Key{}, ErrUnknown
	}
	s.noteUse(k.Prefix, time.Now().UTC().Truncate(time.Minute))
	return k.Key, nil
}

// HasKeys reports whether a key was made and not revoked.
func (s *Store) HasKeys() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refresh()
	return len(s.keys) > 0, err
}

// refresh reads the file if it has changed.
func (s *Store) refresh() error {
	info, err := os.Stat(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		s.state, s.keys = nil, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("read API keys: %w", err)
	}
	if s.state != nil && os.SameFile(s.state, info) && s.state.ModTime().Equal(info.ModTime()) && s.state.Size() == info.Size() {
		return nil
	}
	list, err := s.readFile()
	if err != nil {
		return err
	}
	s.state, s.keys = info, map[string]stored{}
	for _, k := range list {
		s.keys[k.Hash] = k
	}
	return nil
}

// noteUse keeps the time of a use, and writes all times now and then. A failed write loses no more than a time.
func (s *Store) noteUse(prefix string, at time.Time) {
	if s.used == nil {
		s.used = map[string]time.Time{}
		if text, err := os.ReadFile(filepath.Join(s.Dir, usedName)); err == nil {
			_ = json.Unmarshal(text, &s.used)
		}
	}
	if s.used[prefix].Equal(at) {
		return
	}
	s.used[prefix] = at
	if time.Since(s.wrote) < usedEvery {
		return
	}
	s.wrote = time.Now()
	if text, err := json.Marshal(s.used); err == nil {
		_ = files.Write(filepath.Join(s.Dir, usedName), text, 0o600)
	}
}

func (s *Store) path() string { return filepath.Join(s.Dir, fileName) }

func (s *Store) readFile() (list []stored, err error) {
	text, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return list, nil
}

// change replaces the file.
func (s *Store) change(ctx context.Context, edit func(list []stored) ([]stored, error)) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("store API keys: %w", err)
	}
	unlock, err := files.Lock(ctx, s.path()+".lock")
	if err != nil {
		return fmt.Errorf("store API keys: %w", err)
	}
	defer unlock()
	list, err := s.readFile()
	if err != nil {
		return err
	}
	if list, err = edit(list); err != nil {
		return err
	}
	text, err := json.MarshalIndent(list, "", " ")
	if err == nil {
		err = files.Write(s.path(), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("store API keys: %w", err)
	}
	return nil
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
