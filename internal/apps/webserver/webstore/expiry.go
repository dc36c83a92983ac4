package webstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/apps/webserver/journal"
)

// maxHosts bounds the expiry directory.
const maxHosts = 100_000

// ErrFull means that the expiry directory has no place for a further host.
var ErrFull = errors.New("the expiry directory is full")

// Expiry is the expiry directory: each host of a stored document once, with the Unix time of its last
// document or request. It is durable. Goroutines may share it.
type Expiry struct {
	mu    sync.Mutex
	file  *journal.Journal
	hosts map[string]int64
}

// Host is an entry of the expiry directory.
type Host struct {
	Host string `json:"host"` // with its port, unless that is 80
	Time int64  `json:"uts"`  // Unix time in seconds
}

// OpenExpiry opens or creates the expiry directory in a file of JSON lines.
func OpenExpiry(path string) (*Expiry, error) {
	e := &Expiry{hosts: map[string]int64{}}
	var err error
	e.file, err = journal.Open(path, func(line []byte) error {
		var h Host
		if err := json.Unmarshal(line, &h); err != nil {
			return err
		}
		if h.Host == "" {
			return errors.New("an entry has no host")
		}
		e.hosts[h.Host] = h.Time
		return nil
	})
	return e, err
}

// Close closes the directory.
func (e *Expiry) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.file.Close()
}

// Touch sets the time of hosts and returns when that is durable. A host of which this second is known
// costs nothing. The error wraps ErrFull if hosts were left out.
func (e *Expiry) Touch(now time.Time, hosts ...string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines [][]byte
	var changed []string
	var full error
	for _, host := range hosts {
		old, known := e.hosts[host]
		if known && old == now.Unix() || host == "" || slices.Contains(changed, host) {
			continue
		}
		if !known && len(e.hosts)+len(changed) >= maxHosts {
			full = fmt.Errorf("%w: it has %d hosts; %s has no place", ErrFull, len(e.hosts), host)
			continue
		}
		line, err := json.Marshal(Host{host, now.Unix()})
		if err != nil {
			return err
		}
		lines, changed = append(lines, line), append(changed, host)
	}
	if len(lines) == 0 {
		return full
	}
	if err := e.file.Append(journal.Sync, lines...); err != nil {
		return err
	}
	for _, host := range changed {
		e.hosts[host] = now.Unix()
	}
	return errors.Join(full, e.compactFile())
}

// compactFile replaces the file when most of its lines are old.
func (e *Expiry) compactFile() error {
	if e.file.Lines() <= 4*len(e.hosts)+1000 {
		return nil
	}
	var lines [][]byte
	for _, h := range e.listHosts() {
		line, err := json.Marshal(h)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	return e.file.Replace(lines)
}

// List returns all hosts, those with the oldest time first.
func (e *Expiry) List() []Host {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.listHosts()
}

func (e *Expiry) listHosts() []Host {
	list := make([]Host, 0, len(e.hosts))
	for host, uts := range e.hosts {
		list = append(list, Host{host, uts})
	}
	slices.SortFunc(list, func(a, b Host) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Host, b.Host)) })
	return list
}

// Due returns the hosts whose time is more than age before now, the oldest first.
func (e *Expiry) Due(now time.Time, age time.Duration) (hosts []string) {
	for _, h := range e.List() {
		if now.Sub(time.Unix(h.Time, 0)) > age {
			hosts = append(hosts, h.Host)
		}
	}
	return hosts
}
