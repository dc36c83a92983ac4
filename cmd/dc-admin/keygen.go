package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/daemon/curvekeys"
)

var keygenText = command.Text{
	Name: "keygen", Summary: "creates the keys of one side of a connection", UsageError: command.ExitRefused,
	Description: `Creates a pair of keys for the daemon, or for a user who connects from another machine:
NAME.key is secret and readable by its owner only; NAME.pub is public.`,
	Examples: `  dc-admin keygen --out /etc/dc-daemon/keys --name daemon
  dc-admin keygen --out ~/.dc --name alice
  dc-admin keygen --public ~/.dc/alice.key`,
	ExitStatus: "0 success; 2 wrong options, or files that exist, or cannot be read or written.",
}

// keygenNext explains where the files of a pair belong.
const keygenNext = `
For the keys of the daemon, set in dc-daemon.ini, sections [AdminInterfaceServer]
and [ClientInterfaceService]:
  serverSecretKey = %[2]s
  allowedClients = <file or folder of the public keys of allowed clients>
and give %[3]s to all clients.

For the keys of a client or an operator, add this line to the file allowedClients
of the daemon, or put %[3]s in the folder of that name:
  %[1]s %[4]s
and set on the client's side, in dc-client.ini, section [dcc], or dc-admin.ini,
section [dtma]:
  clientSecretKey = %[2]s
  serverPublicKey = <the .pub file of the daemon>
`

// keyRequest is the options of dc-admin keygen.
type keyRequest struct {
	out, name, secret string
	force             bool
}

// keygenCommand is the sub-command keygen.
func keygenCommand() *command.Command {
	var r keyRequest
	var c *command.Command
	c = command.New(keygenText, func() int { return r.runKeyCommand(c.Given("public")) })
	c.Text(&r.out, "out", "o", "DIR", "folder of the files, created if missing; default: the current folder")
	c.Text(&r.name, "name", "n", "NAME", "owner of the keys")
	c.Text(&r.secret, "public", "p", "FILE", "print the public key of a secret key; create nothing")
	c.Flag(&r.force, "force", "f", "replace existing files; owners of the old key are locked out")
	return c
}

// runKeyCommand creates the keys, or prints a public key, and returns the exit status.
func (r keyRequest) runKeyCommand(public bool) int {
	var text string
	var err error
	switch {
	case public && (r.name != "" || r.out != "" || r.force):
		err = errors.New("--public cannot be combined with other options")
	case public:
		text, err = publicOf(r.secret)
	case r.name == "":
		err = errors.New("--name is missing; try --help")
	default:
		text, err = makeKeys(r.out, r.name, r.force)
	}
	if err == nil {
		_, err = io.WriteString(os.Stdout, text)
	}
	if err != nil {
		printError("dc-admin keygen", err)
		return command.ExitRefused
	}
	return command.ExitDone
}

func publicOf(path string) (string, error) {
	pair, err := curvekeys.ReadSecret(path)
	return pair.Public + "\n", err
}

func makeKeys(folder, name string, force bool) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	pair, err := curvekeys.Generate()
	if err != nil {
		return "", err
	}
	files, err := pair.Write(folder, name, force)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w; --force replaces it", err)
	}
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("secret key: %s\npublic key: %s\n", files.Secret, files.Public)
	return head + fmt.Sprintf(keygenNext, pair.Public, files.Secret, files.Public, name), nil
}
