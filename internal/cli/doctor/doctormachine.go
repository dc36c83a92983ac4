package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
)

// leastFree is the free room below which /readyz has a warning, too (StatusMinFree).
const leastFree = 1 << 30

func (d *doctor) checkDisk(dir string) {
	const remedy = "free some room, or move the folder and name it with --data"
	free, err := files.Free(dir)
	switch {
	case err != nil:
		d.addFinding("disk", fault, err.Error(), "give another folder with --data")
	case free < leastFree/8:
		d.addFinding("disk", fault, fmt.Sprintf("%s free at %s", files.Bytes(free), dir), remedy)
	case free < leastFree:
		d.addFinding("disk", warning, fmt.Sprintf("%s free at %s", files.Bytes(free), dir), remedy)
	default:
		d.addFinding("disk", fine, files.Bytes(free)+" free", "")
	}
}

// usual are the ports of dc-daemon.ini.
var usual = map[string]string{"5503": "serverPort of [AdminInterfaceServer]", "5504": "serverPort of [ClientInterfaceService]", "5580": "StatusPort of [StatusServer]", "5581": "ApiPort of [Api]"}

// checkPorts checks that a daemon can listen on loopback, also one with the usual ports.
func (d *doctor) checkPorts() {
	if err := tryListen("0"); err != nil {
		d.addFinding("ports", fault, err.Error(), "allow programs to listen on the loopback address")
		return
	}
	d.addFinding("ports", fine, "free ports on 127.0.0.1", "")
	for _, port := range slices.Sorted(maps.Keys(usual)) {
		if err := tryListen(port); errors.Is(err, syscall.EADDRINUSE) {
			d.addFinding("ports", warning, "another program uses port "+port+"; hce crawl does not need it, but a dc-daemon with its usual ports does", "stop that program, or set another "+usual[port])
		}
	}
}

// faultOrWarning is the state of a finding that is a fault or a warning.
func faultOrWarning(isFault bool) string {
	if isFault {
		return fault
	}
	return warning
}

func tryListen(port string) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	return l.Close()
}

// browserPath returns the Chromium of the crawler: that of crawler-task.ini of the folder, else that of PATH.
func (d *doctor) browserPath() string {
	if d.Node != nil {
		if f, err := config.Load(filepath.Join(d.Node.Dir, "ini", "crawler-task.ini")); err == nil {
			if path := f.Section("Browser").Text("path", ""); path != "" {
				return path
			}
		}
	}
	return node.Browser()
}

// checkBrowser checks Chromium. It is a fault if it is missing or does not start and a site needs it.
func (d *doctor) checkBrowser() {
	const remedy = "install chromium, or set path of [Browser] in crawler-task.ini"
	needs := ""
	if len(d.browserSites) > 0 {
		needs = "; " + plaintext.Count(int64(len(d.browserSites)), "site needs", "sites need") + " it, such as " + d.browserSites[0]
	}
	path := d.browserPath()
	if path == "" {
		d.addFinding("browser", faultOrWarning(needs != ""), "no Chromium; pages of --browser sites get the error FETCHER_INTERNAL"+needs, remedy)
		return
	}
	ctx, cancel := context.WithTimeout(d.Ctx, 20*time.Second)
	defer cancel()
	text, err := node.Version(ctx, filepath.Dir(path), filepath.Base(path))
	if err != nil {
		d.addFinding("browser", fault, path+" does not start: "+err.Error()+needs, remedy)
		return
	}
	d.addFinding("browser", fine, path+", "+text, "")
}

// Limits of open files: below the first a daemon serves few connections, below the second it does not work.
const (
	fewFiles    = 1024
	tooFewFiles = 256
)

func (d *doctor) checkLimits() {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	remedy := fmt.Sprintf("ulimit -n %d # or LimitNOFILE of the systemd unit", fewFiles)
	switch {
	case err != nil:
		d.addFinding("open files", fault, err.Error(), remedy)
	case limit.Cur < fewFiles:
		d.addFinding("open files", faultOrWarning(limit.Cur < tooFewFiles), fmt.Sprintf("the limit is %d", limit.Cur), remedy)
	default:
		d.addFinding("open files", fine, fmt.Sprintf("the limit is %d", limit.Cur), "")
	}
	dir := os.TempDir()
	d.addCheck("temporary folder", config.Writable(dir), dir, "export TMPDIR=/tmp # or another folder that can be written")
}

// checkClock compares the clock with the times at which the programs were installed and the data were written: politeness
// and recrawls depend on the clock.
func (d *doctor) checkClock(programs, dir string) {
	now := time.Now()
	newest, path := time.Time{}, ""
	var written []string
	if programs != "" {
		written = append(written, filepath.Join(programs, "dc-daemon"))
	}
	if dir != "" {
		written = append(written, filepath.Join(dir, "data", "dc.db"), filepath.Join(dir, "data", "dc.db-wal"))
	}
	for _, p := range written {
		if info, err := os.Stat(p); err == nil && info.ModTime().After(newest) {
			newest, path = info.ModTime(), p
		}
	}
	if newest.Sub(now) > time.Hour {
		d.addFinding("clock", fault, fmt.Sprintf("it is %s, but %s is from %s", now.Format(time.DateTime), path, newest.Format(time.DateTime)), "set the clock: timedatectl set-ntp true")
		return
	}
	d.addFinding("clock", fine, now.Format(time.RFC3339), "")
}

// Limits of a look at a port.
const (
	dialTime  = 2 * time.Second
	greetTime = 2 * time.Second
)

// tryConnect returns why nothing accepts connections at an address, nil if something does.
func tryConnect(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// tryGreeting returns an error if no daemon speaks at an address. A daemon says at once that it speaks ZMTP; a daemon that
// is stopped says nothing, and other programs say something else, or wait for a request.
func tryGreeting(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	first := make([]byte, 1)
	for _, request := range []string{"", "GET / HTTP/1.0\r\n\r\n"} {
		if err := conn.SetDeadline(time.Now().Add(greetTime)); err != nil {
			return err
		}
		if _, err := conn.Write([]byte(request)); err != nil {
			return err
		}
		n, err := conn.Read(first)
		switch {
		case n == 1 && first[0] == 0xff && request == "":
			return nil
		case n == 1 || !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("the program at %s is no dc-daemon: it does not speak ZMTP", address)
		}
	}
	return fmt.Errorf("%s accepts connections and is silent: the process is stopped, or the machine is too busy", address)
}

// checkBroker checks that the NATS servers of a head or a node accept connections.
func (d *doctor) checkBroker(ini string) {
	f, err := config.Load(ini)
	if err != nil {
		return // configuration has named it
	}
	s := f.Section("Cluster")
	if s.Text("engine", "local") != "nats" {
		return
	}
	for _, server := range config.Names(s.Text("urls", "")) {
		address := server
		if _, rest, found := strings.Cut(server, "://"); found {
			address = rest
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(address, "4222")
		}
		d.addCheck("NATS", tryConnect(d.Ctx, address), server+" accepts connections", "start nats-server there, or correct urls of [Cluster] in "+ini)
	}
}

// version checks that all programs are there, with one version. It returns their folder, "" without them.
func (d *doctor) checkPrograms() string {
	const remedy = "make build, or install the package again: all programs together"
	dir, err := node.Programs()
	if err != nil {
		d.addFinding("programs", fault, err.Error(), remedy)
		return ""
	}
	own := command.Version()
	names := node.Names()
	problems := make([]string, len(names))
	inParallel(len(names), func(i int) {
		text, err := node.Version(d.Ctx, dir, names[i])
		switch {
		case err != nil:
			problems[i] = filepath.Join(dir, names[i]) + " does not start: " + err.Error()
		case !strings.HasPrefix(text, names[i]+" "+own+" "):
			problems[i] = fmt.Sprintf("%s is %s, but hce is %s", filepath.Join(dir, names[i]), text, own)
		}
	})
	good := dir
	for _, problem := range problems {
		if problem != "" {
			d.addFinding("programs", fault, problem, remedy)
			good = ""
		}
	}
	if good != "" {
		d.addFinding("programs", fine, dir+", version "+own, "")
	}
	return good
}
