package daemonprogram

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

// Settings of each section for connections from other machines.
func TestRemote(t *testing.T) {
	folder := t.TempDir()
	server, alice := clitest.Pair(t, folder, "server"), clitest.Pair(t, folder, "alice")
	if err := os.WriteFile(filepath.Join(folder, "broken"), []byte(alice.Public+"\n0"+alice.Public[2:]+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "nobody"), 0o755); err != nil {
		t.Fatal(err)
	}
	const both = "serverSecretKey = server.key\nallowedClients = alice.pub\n"
	const insecure = "AllowInsecureRemoteAccess = 1\n"
	for name, c := range map[string]struct {
		text string
		keys bool
		err  []string
	}{
		"nothing":                          {"", false, nil},
		"loopback":                         {"serverHost = 127.0.0.1\n", false, nil},
		"localhost":                        {"serverHost = localhost\n", false, nil},
		"IPv6 loopback":                    {"serverHost = ::1\n", false, nil},
		"loopback with keys":               {both, true, nil},
		"folder of keys":                   {"serverSecretKey = server.key\nallowedClients = .\n", true, nil},
		"all addresses with keys":          {"serverHost = 0.0.0.0\n" + both, true, nil},
		"keys and AllowInsecure":           {"serverHost = *\n" + insecure + both, true, nil},
		"all addresses with AllowInsecure": {"serverHost = *\n" + insecure, false, nil},
		"all IPv4 addresses":               {"serverHost = 0.0.0.0\n", false, []string{`serverHost = "0.0.0.0"`, "dc-admin keygen", "serverSecretKey", "allowedClients", "AllowInsecureRemoteAccess = 1"}},
		"star":                             {"serverHost = *\n", false, []string{`"*"`, "dc-admin keygen"}},
		"all IPv6 addresses":               {"serverHost = ::\n", false, []string{`"::"`, "dc-admin keygen"}},
		"public address":                   {"serverHost = 192.0.2.1\n", false, []string{`"192.0.2.1"`, "dc-admin keygen"}},
		"host name":                        {"serverHost = example.org\n", false, []string{"serverHost", "give an IP address"}},
		"interface name with keys":         {"serverHost = eth0\n" + insecure + both, true, []string{"serverHost", "give an IP address"}},
		"secret only":                      {"serverSecretKey = server.key\n", false, []string{"needs allowedClients"}},
		"list only":                        {"allowedClients = alice.pub\n", false, []string{"needs serverSecretKey"}},
		"secret only, all addresses":       {"serverHost = *\nserverSecretKey = server.key\n", false, []string{"needs allowedClients"}},
		"missing files":                    {"serverSecretKey = none.key\nallowedClients = none\n", true, []string{"serverSecretKey", "none.key", "allowedClients"}},
		"list of secret keys":              {"serverSecretKey = server.key\nallowedClients = alice.key\n", true, []string{"allowedClients", "a secret key"}},
		"invalid line in the list":         {"serverSecretKey = server.key\nallowedClients = broken\n", true, []string{"line 2 of", "broken"}},
		"nobody":                           {"serverSecretKey = server.key\nallowedClients = nobody\n", true, []string{"no public key"}},
		"public instead of secret key":     {"serverSecretKey = server.pub\nallowedClients = alice.pub\n", true, []string{"serverSecretKey", "server.pub"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, section := range []string{"AdminInterfaceServer", "ClientInterfaceService"} {
				f, err := config.Parse(filepath.Join(folder, "dc-daemon.ini"), []byte("[Application]\n["+section+"]\n"+c.text))
				if err != nil {
					t.Fatal(err)
				}
				cfg := dcDaemon.readSettings(f, config.Application{DataDir: "/data"})
				got, other := cfg.Admin.Curve, cfg.Gateway.Curve
				if section != admin.Name {
					got, other = other, got
				}
				if (got != nil) != c.keys || other != nil {
					t.Errorf("%s: keys %v, of the other port %v", section, got != nil, other != nil)
				}
				if got != nil && len(c.err) == 0 {
					if ok, err := got.Allowed.Allowed(alice.Public); got.Secret != server.Secret || !ok || err != nil {
						t.Errorf("%s: %t, %v", section, ok, err)
					}
				}
				err = f.Err()
				if (err != nil) != (len(c.err) > 0) {
					t.Errorf("%s: %v", section, err)
				}
				for _, want := range c.err {
					if err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), server.Secret)) {
						t.Errorf("%s: no %q in %v", section, want, err)
					}
				}
			}
		})
	}
}

func TestExposedDoesNotStart(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, strings.Replace(ini, "[ClientInterfaceService]\n", "[ClientInterfaceService]\nserverHost = *\n", 1))
	out, err := program(t, folder).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "[ClientInterfaceService] serverHost") || !strings.Contains(string(out), "dc-admin keygen") {
		t.Errorf("%v: %s", err, out)
	}
}

// A daemon on all addresses serves listed clients. Changes of the list apply while it runs.
func TestDaemonWithKeys(t *testing.T) {
	folder := t.TempDir()
	server, alice, bob := clitest.Pair(t, folder, "server"), clitest.Pair(t, folder, "alice"), clitest.Pair(t, folder, "bob")
	for _, list := range []string{"operators", "clients"} {
		if err := os.WriteFile(filepath.Join(folder, list), []byte(alice.Public+" alice\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Replace(ini, "[AdminInterfaceServer]\n", "[AdminInterfaceServer]\nserverHost = 0.0.0.0\nserverSecretKey = server.key\nallowedClients = operators\n", 1)
	text = strings.Replace(text, "[ClientInterfaceService]\n", "[ClientInterfaceService]\nserverHost = 0.0.0.0\nserverSecretKey = server.key\nallowedClients = clients\nRequestTimeout = 50\n", 1)
	write(t, folder, text)
	c := program(t, folder)
	lines := started(t, c)
	var log strings.Builder
	var adminAt, clientsAt string
	for (adminAt == "" || clientsAt == "") && lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "daemon runs") {
			adminAt, clientsAt = endpoint(lines.Text(), "AdminInterfaceServer"), endpoint(lines.Text(), "ClientInterfaceService")
		}
	}
	rest := make(chan string, 1)
	go func() {
		var more strings.Builder
		for lines.Scan() {
			more.WriteString(lines.Text() + "\n")
		}
		rest <- more.String()
	}()
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		log.WriteString(<-rest)
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s", err, log.String())
		}
		for _, want := range []string{"client refused", "its public key is not listed", bob.Public} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in\n%s", want, log.String())
			}
		}
		if strings.Contains(log.String(), server.Secret) {
			t.Error("the log contains the secret")
		}
	}()
	at := func(address string, p *curvekeys.Pair) client.Server {
		_, port, err := net.SplitHostPort(strings.TrimPrefix(address, "tcp://"))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(port)
		s := client.Server{Host: "127.0.0.1", Port: n, Timeout: managertest.Patience}
		if p != nil {
			s.Curve = &bus.Curve{Public: p.Public, Secret: p.Secret, ServerPublic: server.Public}
		}
		return s
	}
	stat := func(p *curvekeys.Pair) int {
		return client.Command{Name: "STAT", Classes: []string{admin.Name}, Server: at(adminAt, p)}.Do(t.Context()).Exit
	}
	call := func(p *curvekeys.Pair) int {
		return client.Call{Op: wire.SiteStatus, Object: json.RawMessage(`{"id":"a"}`), Server: at(clientsAt, p)}.Do(t.Context()).Exit
	}
	for name, p := range map[string]*curvekeys.Pair{"alice": &alice, "bob": &bob, "nobody": nil} {
		want := [2]int{command.ExitFailed, command.ExitErrors} // dc-client has the status of the original
		if name == "alice" {
			want = [2]int{}
		}
		if got := [2]int{stat(p), call(p)}; got != want {
			t.Errorf("%s: exits %v, want %v", name, got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "clients"), []byte(bob.Public+" bob\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := [2]int{stat(&bob), call(&bob)}; got != [2]int{command.ExitFailed, 0} {
		t.Errorf("bob, listed as a client: exits %v", got)
	}
	for end := time.Now().Add(managertest.Patience); call(&alice) == 0; {
		if time.Now().After(end) {
			t.Fatal("alice was removed from the list but is served")
		}
	}
	if got := stat(&alice); got != 0 {
		t.Errorf("alice, still an operator: exit %d", got)
	}
}

// endpoint returns the endpoint of a class in the log line about the start.
func endpoint(line, class string) string {
	found := regexp.MustCompile(class + `:(tcp://[0-9.:]+)`).FindStringSubmatch(line)
	if found == nil {
		return ""
	}
	return found[1]
}
