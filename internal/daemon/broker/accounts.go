package broker

import (
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// accounts gives each node an account of its own, which is a space of subjects of its own: what the
// server publishes for a node, for example the answer of a JetStream request to a reply subject
// that the node chose, never reaches the streams or other nodes. The head and the streams are in
// the global account. A node's account imports exactly the subjects of its permissions.
type accounts struct {
	server *server.Server

	mu       sync.Mutex
	byName   map[string]*server.Account
	exported map[string]bool
}

func newAccounts(s *server.Server) *accounts {
	return &accounts{server: s, byName: map[string]*server.Account{}, exported: map[string]bool{}}
}

// accountOf is the name of a node's account.
func accountOf(node string) string { return "NODE-" + node }

// findAccount returns the account of a name.
func (a *accounts) findAccount(name string) (*server.Account, error) {
	if name == Head {
		return a.server.GlobalAccount(), nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if account := a.byName[name]; account != nil {
		return account, nil
	}
	account, err := a.server.LookupAccount(accountOf(name)) // of an attempt that failed
	if err != nil {
		account, err = a.server.RegisterAccount(accountOf(name))
	}
	if err == nil {
		err = a.importSubjects(account, name)
	}
	if err != nil {
		return nil, err
	}
	a.byName[name] = account
	return account, nil
}

// importSubjects imports the subjects of a node.
func (a *accounts) importSubjects(account *server.Account, name string) error {
	core := a.server.GlobalAccount()
	services, streams := importsOf(name)
	for _, subject := range services {
		if !a.exported[subject] {
			kind := server.Singleton
			if isStreamed(subject) {
				kind = server.Streamed
			}
			if err := core.AddServiceExportWithResponse(subject, kind, nil); err != nil {
				return fmt.Errorf("export %s: %w", subject, err)
			}
			a.exported[subject] = true
		}
		if err := account.AddServiceImport(core, subject, subject); err != nil {
			return fmt.Errorf("import %s: %w", subject, err)
		}
	}
	for _, subject := range streams {
		if !a.exported[subject] {
			if err := core.AddStreamExport(subject, nil); err != nil {
				return fmt.Errorf("export %s: %w", subject, err)
			}
			a.exported[subject] = true
		}
		if err := account.AddStreamImport(core, subject, ""); err != nil {
			return fmt.Errorf("import %s: %w", subject, err)
		}
	}
	return nil
}

// importsOf returns the subjects that pass from a node to the head and the streams, and those that
// pass to the node.
func importsOf(node string) (services, streams []string) {
	return PermissionsOf(node).Publish, []string{"dc.node." + node + ".>", "dc.all.>"}
}

// isStreamed reports whether a request has several answers.
func isStreamed(subject string) bool { return strings.HasPrefix(subject, "$JS.API.CONSUMER.MSG.NEXT.") }
