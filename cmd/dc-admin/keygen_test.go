package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/daemon/curvekeys"
)

// dc-admin uses the keys of the ini file: a daemon without keys refuses it.
func TestKeysOfTheIniFile(t *testing.T) {
	port := clitest.Serve(t, manager)
	folder := t.TempDir()
	for _, name := range []string{"server", "own"} {
		if _, stderr, status := clitest.Run(t, folder, "keygen", "--name", name); status != 0 {
			t.Fatal(stderr)
		}
	}
	text := "[dtma]\nclientPort = " + port + "\ntimeout = 20000\n"
	clitest.Write(t, folder, "dc-admin.ini", text+"serverPublicKey = server.pub\nclientSecretKey = own.key\n")
	stdout, _, status := clitest.Run(t, folder, "--cmd", "STAT", "--classes", "X")
	if status != 3 || !strings.Contains(stdout, "uses no keys") {
		t.Errorf("status %d, %s", status, stdout)
	}
	clitest.Write(t, folder, "half.ini", text+"serverPublicKey = server.pub\n")
	stdout, stderr, status := clitest.Run(t, folder, "-c", "half.ini", "--cmd", "STAT", "--classes", "X")
	if status != 2 || !strings.Contains(stderr, "clientSecretKey") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
}

func TestKeygen(t *testing.T) {
	folder := t.TempDir()
	stdout, stderr, status := clitest.Run(t, folder, "keygen", "--out", "new/keys", "--name", "alice")
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, %q", status, stderr)
	}
	secret, public := filepath.Join(folder, "new", "keys", "alice.key"), filepath.Join(folder, "new", "keys", "alice.pub")
	pair, err := curvekeys.ReadSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := curvekeys.ReadPublic(public); err != nil || got != pair.Public {
		t.Errorf("%s, %v", got, err)
	}
	for _, want := range []string{
		"serverSecretKey = ", "allowedClients = ", "clientSecretKey = ", "serverPublicKey = ",
		filepath.Join("new", "keys", "alice.key"), pair.Public + " alice",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, pair.Secret) || strings.Contains(stdout, "%!") {
		t.Errorf("stdout shows the secret key or a format error:\n%s", stdout)
	}
	before, _ := os.ReadFile(secret)

	for name, c := range map[string]struct {
		args   []string
		status int
		stdout string
		stderr string
	}{
		"public key of a secret key": {args: []string{"--public", secret}, stdout: pair.Public + "\n"},
		"exists":                     {args: []string{"--out", "new/keys", "--name", "alice"}, status: 2, stderr: "--force"},
		"no name":                    {args: []string{"--out", "new"}, status: 2, stderr: "--name is missing"},
		"no options":                 {status: 2, stderr: "--name is missing"},
		"name is a path":             {args: []string{"--name", "../alice"}, status: 2, stderr: "letters"},
		"folder is a file":           {args: []string{"--out", "new/keys/alice.pub", "--name", "bob"}, status: 2, stderr: "alice.pub"},
		"unknown option":             {args: []string{"--nam", "x", "--what"}, status: 2, stderr: "--what is unknown"},
		"public with others":         {args: []string{"--public", secret, "--name", "x"}, status: 2, stderr: "cannot be combined"},
		"public of a public key":     {args: []string{"--public", public}, status: 2, stderr: "alice.pub"},
		"public of missing file":     {args: []string{"--public", "none.key"}, status: 2, stderr: "none.key"},
		"help":                       {args: []string{"-h"}, stdout: ""},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := clitest.Run(t, folder, append([]string{"keygen"}, c.args...)...)
			if status != c.status || name != "help" && stdout != c.stdout || !strings.Contains(stderr, c.stderr) || (c.stderr == "") != (stderr == "") {
				t.Errorf("status %d, %q, %q", status, stdout, stderr)
			}
			if name == "help" && !strings.Contains(stdout, "Usage: dc-admin keygen") {
				t.Errorf("%q", stdout)
			}
		})
	}
	if after, _ := os.ReadFile(secret); string(after) != string(before) {
		t.Error("the key was replaced")
	}
	if _, stderr, status := clitest.Run(t, folder, "keygen", "--out", "new/keys", "--name", "alice", "--force"); status != 0 {
		t.Errorf("status %d, %q", status, stderr)
	}
	if other, err := curvekeys.ReadSecret(secret); err != nil || other == pair {
		t.Errorf("not replaced: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(folder, "new", "keys")); len(left) != 2 {
		t.Errorf("unexpected files: %v", left)
	}
}
