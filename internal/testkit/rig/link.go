package rig

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"hce/dc/internal/testkit/testrelay"
)

// Link is the link of a node to the brokers: a relay to each of them.
type Link []*testrelay.Relay

// Cut breaks the link until Mend.
func (l Link) Cut() { l.forEachRelay((*testrelay.Relay).Cut) }

// Hold lets no data pass until Mend, and tells no side.
func (l Link) Hold() { l.forEachRelay((*testrelay.Relay).Hold) }

// Mend ends Cut and Hold.
func (l Link) Mend() { l.forEachRelay((*testrelay.Relay).Mend) }

func (l Link) close() { l.forEachRelay((*testrelay.Relay).Close) }

func (l Link) forEachRelay(act func(*testrelay.Relay)) {
	for _, r := range l {
		act(r)
	}
}

// startRelays starts a relay to each broker of a join file, and writes their addresses into it.
func startRelays(path string) (l Link, err error) {
	defer func() {
		if err != nil {
			l.close()
			l, err = nil, fmt.Errorf("relay of %s: %w", path, err)
		}
	}()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var join map[string]any
	if err := json.Unmarshal(text, &join); err != nil {
		return nil, err
	}
	urls, _ := join["urls"].([]any)
	for i, one := range urls {
		u, err := url.Parse(fmt.Sprint(one))
		if err != nil {
			return l, err
		}
		r, err := testrelay.Start(u.Host)
		if err != nil {
			return l, err
		}
		l = append(l, r)
		u.Host = r.Address()
		urls[i] = u.String()
	}
	if text, err = json.Marshal(join); err != nil {
		return l, err
	}
	return l, os.WriteFile(path, text, 0o600)
}
