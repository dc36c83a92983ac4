package apikeys_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/cli/apikeys"
)

// Another process makes and revokes keys while a daemon uses them. The file has no secret.
func TestKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "api")
	person, daemon := &apikeys.Store{Dir: dir}, &apikeys.Store{Dir: dir}
	if has, err := daemon.HasKeys(); has || err != nil {
		t.Fatal(has, err)
	}
	if err := person.Revoke(t.Context(), "none"); !errors.Is(err, apikeys.ErrUnknown) {
		t.Errorf("revoke without keys: %v", err)
	}
	secret, made, err := person.New(t.Context(), apikeys.Key{Scope: apikeys.Crawl, Name: "robot", Sites: []string{"a", "b"}})
	if err != nil || !strings.HasPrefix(secret, "hce_"+made.Prefix+"_") || len(secret) < 40 {
		t.Fatal(secret, made, err)
	}
	found, err := daemon.Find(secret)
	if err != nil || found.Prefix != made.Prefix || found.Scope != apikeys.Crawl || !found.AllowsSite("b") || found.AllowsSite("c") {
		t.Errorf("%+v %v", found, err)
	}
	for _, wrong := range []string{"", secret[:len(secret)-1], secret + "x", made.Prefix, "hce_" + made.Prefix} {
		if k, err := daemon.Find(wrong); !errors.Is(err, apikeys.ErrUnknown) {
			t.Errorf("%q: %+v %v", wrong, k, err)
		}
	}
	if list, err := person.List(); err != nil || len(list) != 1 || list[0].Used == nil || list[0].Name != "robot" {
		t.Errorf("%+v %v", list, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if err != nil || strings.Contains(string(text), secret[len(secret)-20:]) {
		t.Errorf("%s %v", text, err)
	}
	info, err := os.Stat(filepath.Join(dir, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := person.Revoke(t.Context(), made.Prefix); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Find(secret); !errors.Is(err, apikeys.ErrUnknown) {
		t.Errorf("after revoke: %v", err)
	}
	if _, _, err := person.New(t.Context(), apikeys.Key{Scope: "root"}); err == nil {
		t.Error("an unknown scope is accepted")
	}
}

func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		has, needs apikeys.Scope
		want       bool
	}{
		{apikeys.Read, apikeys.Read, true}, {apikeys.Read, apikeys.Crawl, false}, {apikeys.Crawl, apikeys.Read, true}, {apikeys.Admin, apikeys.Crawl, true},
		{apikeys.Crawl, apikeys.Admin, false}, {"", apikeys.Read, false}, {"other", apikeys.Read, false}, {"", "", false},
	} {
		if got := tt.has.Allows(tt.needs); got != tt.want {
			t.Errorf("%q allows %q: %v", tt.has, tt.needs, got)
		}
	}
}

// Keys that are made side by side are all there.
func TestManyKeysAtOnce(t *testing.T) {
	dir := t.TempDir()
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() {
			if _, _, err := (&apikeys.Store{Dir: dir}).New(t.Context(), apikeys.Key{Scope: apikeys.Read}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if list, err := (&apikeys.Store{Dir: dir}).List(); len(list) != 20 || err != nil {
		t.Errorf("%d keys, %v", len(list), err)
	}
}
