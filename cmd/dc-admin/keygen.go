package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/flags"
	"hce/dc/internal/daemon/curvekeys"
)

const keygenNotes = `Makes a pair of keys for the daemon, or for somebody who is to reach it from
another machine: NAME.key, the secret one, for its owner's eyes, and NAME.pub.

Examples:
  dc-admin keygen --out /etc/dc-daemon/keys --name daemon
  dc-admin keygen --out ~/.dc --name alice
  dc-admin keygen --public ~/.dc/alice.key

Exit status: 0 done, 1 not done, 2 wrong options.`

// keygenNext says where the files of a pair belong.
const keygenNext = `
If these are the keys of the daemon, in dc-daemon.ini, sections
[AdminInterfaceServer] and [ClientInterfaceService]:
  serverSecretKey = %[2]s
  allowedClients = <file or folder of the public keys that may come>
and give %[3]s to all who may come.

If they are those of a client or an operator, add this line to the file
allowedClients of the daemon, or put %[3]s in the folder of that name:
  %[1]s %[4]s
and on the client's side, in dc-client.ini, section [dcc], or dc-admin.ini,
section [dtma]:
  clientSecretKey = %[2]s
  serverPublicKey = <the .pub file of the daemon>
`

// keygen is the sub-command of that name. It gives the exit status.
func keygen(args []string, stdout, stderr io.Writer) int {
	var out, name, secret string
	var force bool
	s := flags.New("dc-admin keygen", "makes the keys of one side")
	s.Text(&out, "out", "o", "DIR", "folder of the files, made if missing; default: the current one")
	s.Text(&name, "name", "n", "NAME", "whose keys they are")
	s.Text(&secret, "public", "p", "FILE", "print the public key of a secret one, and make nothing")
	s.Flag(&force, "force", "f", "replace files that exist; who has the old key is locked out")
	s.Note(keygenNotes)
	err := s.Parse(args)
	switch {
	case errors.Is(err, flags.ErrHelp):
		return say(stdout, stderr, s.Help())
	case err != nil:
	case s.Given("public") && (name != "" || out != "" || force):
		err = errors.New("--public stands alone")
	case !s.Given("public") && name == "":
		err = errors.New("--name is missing; try --help")
	}
	if err != nil {
		fmt.Fprintln(stderr, "dc-admin keygen:", err)
		return client.AdminWrong
	}
	text := ""
	if s.Given("public") {
		text, err = publicOf(secret)
	} else {
		text, err = makeKeys(out, name, force)
	}
	if err != nil {
		fmt.Fprintln(stderr, "dc-admin keygen:", err)
		return client.AdminFailed
	}
	return say(stdout, stderr, text)
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

func say(stdout, stderr io.Writer, text string) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		fmt.Fprintln(stderr, "dc-admin keygen:", err)
		return client.AdminFailed
	}
	return client.AdminOK
}
