// Package apicommands has the sub-commands of hce about the doors for programs: the keys of the REST API, and the tools for models.
package apicommands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/config"
	"hce/dc/internal/wire"
)

// KeyCommand is hce key.
func KeyCommand(p subcommand.Program) *command.Command {
	return subcommand.NewGroup("key", "makes, lists and revokes keys of the REST API",
		`Keys are kept in a folder of the daemon (ApiKeysDir of [Api] in dc-daemon.ini), so run it on the
machine and as the user of the daemon. A key that is revoked is refused at once.`,
		`  hce key new --scope read
  hce key new --scope crawl --site my-site --name robot
  hce key ls
  hce key rm k3m8x2qa`,
		keyNewCommand(p), keyLsCommand(p), keyRmCommand(p))
}

// keyOptions are the options of all commands about keys.
type keyOptions struct {
	subcommand.Options
	daemon string // its ini file
}

// newKeyCommand returns a command that works with the keys.
func newKeyCommand(p subcommand.Program, text command.Text, o *keyOptions, do func(s *subcommand.Session, store *apikeys.Store) error) *command.Command {
	c := p.NewLeaf(text, &o.Options, func(s *subcommand.Session) error {
		store, err := o.openKeys()
		if err != nil {
			return err
		}
		return do(s, store)
	})
	c.Text(&o.daemon, "ini", "", "FILE", "dc-daemon.ini of the daemon; default: that of this folder, of /etc/dc-daemon or of the folder of hce")
	return c
}

// openKeys finds the folder of the keys.
func (o *keyOptions) openKeys() (*apikeys.Store, error) {
	f, err := config.Open("dc-daemon", o.daemon)
	if errors.Is(err, config.ErrNoFile) && o.daemon == "" {
		dir := o.Data
		if dir == "" {
			if dir, err = datafolder.DefaultDir(os.Getenv); err != nil {
				return nil, command.Refusal{Err: err}
			}
		}
		f, err = config.Open("dc-daemon", filepath.Join(dir, "ini", "dc-daemon.ini"))
	}
	if err != nil {
		return nil, command.Refuse("%w; name the ini file of the daemon with --ini", err)
	}
	app := f.Application("dc-daemon", "stderr")
	store := &apikeys.Store{Dir: f.Section("Api").PathIn(app.DataDir, "ApiKeysDir", "api")}
	return store, f.Err()
}

func keyNewCommand(p subcommand.Program) *command.Command {
	o, k := keyOptions{}, apikeys.Key{Scope: apikeys.Read}
	scope := string(apikeys.Read)
	c := newKeyCommand(p, command.Text{
		Name: "new", Summary: "makes a key and prints it, once",
		Description: `Scopes: read reads everything; crawl also asks for pages and creates, changes and deletes sites; admin
does all. With --site the key is for these sites alone.

As soon as there is a key, requests without one are refused, on loopback too.`,
		Examples: "  hce key new --scope read --name dashboard\n  hce key new --scope crawl --site my-site",
	}, &o, func(s *subcommand.Session, store *apikeys.Store) error {
		if k.Scope = apikeys.Scope(scope); !slices.Contains(apikeys.Scopes, k.Scope) {
			return command.Refuse("--scope %q is not one of read, crawl and admin", scope)
		}
		for _, id := range k.Sites {
			if !wire.ValidSiteID(id) {
				return command.Refuse("--site %q is not the id of a site; list the ids with: %s", id, s.CommandHint("site", "ls"))
			}
		}
		secret, made, err := store.New(s.Ctx, k)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.PrintJSON(map[string]any{"key": secret, "prefix": made.Prefix, "scope": made.Scope, "sites": made.Sites})
		}
		fmt.Fprintln(s.Out, secret)
		s.PrintMessage("the key is not shown again; send it with each request: Authorization: Bearer KEY")
		s.PrintMessage("it is for the daemon whose keys are in %s; name the ini file of another one with --ini", store.Dir)
		return nil
	})
	c.Choice(&scope, "scope", "", "SCOPE", "read (default), crawl or admin", "read", "crawl", "admin")
	c.List(&k.Sites, "site", "", "ID", "id of a site that the key is for; may be repeated; default: all sites")
	c.Text(&k.Name, "name", "", "TEXT", "what the key is for")
	return c
}

func keyLsCommand(p subcommand.Program) *command.Command {
	var o keyOptions
	return newKeyCommand(p, command.Text{Name: "ls", Summary: "lists the keys, without their secrets", Examples: "  hce key ls"}, &o, func(s *subcommand.Session, store *apikeys.Store) error {
		keys, err := store.List()
		if err != nil {
			return err
		}
		if s.JSON {
			if keys == nil {
				keys = []apikeys.Key{}
			}
			return s.PrintJSON(keys)
		}
		t := plaintext.Table{Head: []string{"KEY", "SCOPE", "SITES", "CREATED", "LAST USE", "NAME"}}
		for _, k := range keys {
			sites, used := "all", "never"
			if len(k.Sites) > 0 {
				sites = strings.Join(k.Sites, ",")
			}
			if k.Used != nil {
				used = k.Used.Format(time.DateTime)
			}
			t.AddRow(k.Prefix, string(k.Scope), sites, k.Created.Format(time.DateTime), used, plaintext.Clean(k.Name))
		}
		t.Print(s.Out)
		return nil
	})
}

func keyRmCommand(p subcommand.Program) *command.Command {
	var o keyOptions
	var words []string
	c := newKeyCommand(p, command.Text{
		Name: "rm", Summary: "revokes a key", Description: "KEY is the beginning of the key, as hce key ls shows it.", Examples: "  hce key rm k3m8x2qa",
	}, &o, func(s *subcommand.Session, store *apikeys.Store) error {
		err := store.Revoke(s.Ctx, words[0])
		if errors.Is(err, apikeys.ErrUnknown) {
			return command.Refuse("%w; list the keys with: %s", err, s.CommandHint("key", "ls"))
		}
		return err
	})
	c.Words(&words, "KEY", 1, 1)
	return c
}
