package hce

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

// finding is the result of one check of hce doctor.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"` // ok, warning or fault
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// States of a finding.
const (
	fine    = "ok"
	warning = "warning"
	fault   = "fault"
)

func (p program) doctorCommand() *command.Command {
	var o options
	return p.leaf(command.Text{
		Name: "doctor", Summary: "checks what a crawl needs, and says how to mend it",
		Description: `Checks the programs, their configuration, the data folder and its disk, the keys, the database,
all stored contents of a folder, the daemon with the nodes of its cluster, or the ports, the browser,
the limits of the machine and the clock. It starts no daemon and changes nothing but to create the data folder of hce. Exit status 1: there are faults.`,
		Examples: "  hce doctor\n  hce doctor --server 127.0.0.1:5504 --json",
	}, &o, func(s *session) error {
		d := &doctor{session: s}
		d.run()
		if err := d.print(); err != nil {
			return err
		}
		for _, f := range d.found {
			if f.State == fault {
				return command.ErrWithErrors
			}
		}
		return nil
	})
}

// doctor runs the checks.
type doctor struct {
	*session
	found   []finding
	missing []string // why nodes of a cluster did not answer
}

func (d *doctor) add(check, state, text, remedy string) {
	d.found = append(d.found, finding{check, state, clean(text), remedy})
}

// is adds a fault if err is not nil, else ok.
func (d *doctor) is(check string, err error, good, remedy string) {
	if err != nil {
		d.add(check, fault, err.Error(), remedy)
		return
	}
	d.add(check, fine, good, "")
}

func (d *doctor) run() {
	dir := d.programs()
	at, err := d.find()
	switch {
	case err != nil:
		d.add("service", fault, err.Error(), "")
	case at.server != nil:
		at.server.Timeout = min(at.server.Timeout, answerLimit)
		d.clients = *at.server
		d.use(d.clients)
		d.answers("daemon", "it runs at "+d.service.String(), "see the log of the daemon; keys are in serverPublicKey and clientSecretKey of dc-client.ini")
		d.cluster()
	case dir != "":
		d.folder(at, dir)
	}
	d.browser()
	d.limits()
	d.clock(dir)
}

// programs checks that all programs are there, with one version. It returns their folder.
func (d *doctor) programs() string {
	dir, err := node.Programs()
	if err != nil {
		d.add("programs", fault, err.Error(), "make build, or install the package")
		return ""
	}
	own := command.Version()
	for _, name := range node.Names() {
		text, err := node.Version(d.ctx, dir, name)
		switch {
		case err != nil:
			d.add("programs", fault, err.Error(), "build or install all programs together")
			return dir
		case !strings.HasPrefix(text, name+" "+own+" "):
			d.add("programs", fault, fmt.Sprintf("%s, but hce is %s", text, own), "build or install all programs together")
			return dir
		}
	}
	d.add("programs", fine, dir+", version "+own, "")
	return dir
}

// folder checks the data folder of hce.
func (d *doctor) folder(at place, programs string) {
	if at.tried != "" {
		d.add("daemon", fine, "none at "+at.tried+"; hce starts its own while it crawls", "")
	}
	if err := config.Writable(at.dir); err != nil {
		d.add("data folder", fault, err.Error(), "give another folder with --data")
		return
	}
	n, err := node.Open(at.dir, programs)
	if err != nil {
		d.add("data folder", fault, err.Error(), "give another folder with --data")
		return
	}
	d.add("data folder", fine, at.dir, "")
	d.disk(at.dir)
	d.keys(filepath.Join(at.dir, "data", "keys"))
	d.configuration(n)
	d.ports()
	if !node.Exists(at.dir) {
		d.add("database", fine, "it is created with the first crawl", "")
		return
	}
	if err := d.openFolder(at.dir); err != nil {
		d.add("database", fault, err.Error(), "")
		return
	}
	if d.answers("database", "it answers", "see "+filepath.Join(n.LogDir(), "db-task.log")+"; docs/operations.md has the restore from a backup") {
		d.stores(n)
	}
}

const (
	checkLimit = time.Minute // of the check of the stores, which reads everything
	mostFaults = 10          // that are printed
)

// stores reads all stored contents.
func (d *doctor) stores(n *node.Node) {
	ctx, cancel := context.WithTimeout(d.ctx, checkLimit)
	defer cancel()
	var talk bytes.Buffer
	_, err := n.DBTask(ctx, "--check", &talk)
	remedy := d.hint("repair") + "; docs/operations.md, Raw contents, has a table of faults"
	lines := strings.FieldsFunc(talk.String(), func(r rune) bool { return r == '\n' })
	switch {
	case err == nil:
		d.add("stores", fine, "all contents are whole", "")
	case ctx.Err() != nil:
		d.add("stores", warning, fmt.Sprintf("not all contents could be read in %s", checkLimit), "stop nothing; run bin/db-task -c ini/db-task.ini --check in "+n.Dir)
	case len(lines) == 0:
		d.add("stores", fault, err.Error(), "see "+filepath.Join(n.LogDir(), "db-task.log"))
	default:
		for _, line := range lines[:min(len(lines), mostFaults)] {
			d.add("stores", fault, line, remedy)
		}
		if len(lines) > mostFaults {
			d.add("stores", fault, fmt.Sprintf("%d further faults", len(lines)-mostFaults), remedy)
		}
	}
}

// answerLimit is the longest wait for the daemon.
const answerLimit = 10 * time.Second

// answers asks the service for a site that always exists, and reports whether it answers.
func (d *doctor) answers(check, good, remedy string) bool {
	err := d.service.Ask(d.ctx, wire.SiteStatus, map[string]any{"id": wire.GeneralSite}, nil)
	var part *client.Incomplete
	if errors.As(err, &part) { // the daemon itself is well
		d.add(check, fine, good, "")
		d.missing = part.Missing
		for _, missing := range d.missing {
			d.add("nodes", fault, missing, startNode)
		}
		return true
	}
	d.is(check, err, good, remedy)
	return err == nil
}

// startNode is the remedy for a node that is away.
const startNode = "start dc-node on that machine, or read its log there; docs/cluster.md, Failures"

// cluster checks the nodes of a cluster as its head sees them.
func (d *doctor) cluster() {
	nodes, _ := d.nodes() // a person without the operators' keys sees those that do not answer
	good := 0
	for _, n := range nodes {
		for _, r := range n.Refused {
			d.add("nodes", fault, fmt.Sprintf("a second process with the identity of %s was refused at %s UTC: %s in %s (process %d)", n.Name, r.Seen, r.Host, r.Path, r.PID), r.Reason)
		}
		switch {
		case slices.ContainsFunc(d.missing, func(why string) bool { return strings.Contains(why, "node "+n.Name+" ") }):
		case client.IsSilent(n):
			d.add("nodes", fault, fmt.Sprintf("%s is silent; its last sign of life: %s UTC", n.Name, cmp.Or(n.Seen, "none since the head started")), startNode)
		case n.Reason != "":
			d.add("nodes", warning, n.Name+": "+n.Reason, "")
		case !n.Member:
			d.add("nodes", warning, n.Name+" owns no hosts: it is "+n.State, "dc-admin node ls")
		case n.State != "ready":
			d.add("nodes", warning, n.Name+" is "+n.State, "dc-admin node ls; a drained node works again after: dc-admin node undrain "+n.Name)
		case n.Version != "" && n.Version != command.Version():
			d.add("nodes", warning, fmt.Sprintf("%s has version %s, but hce is %s", n.Name, n.Version, command.Version()), "upgrade it: docs/cluster.md, Upgrade")
		default:
			good++
		}
	}
	if good > 0 {
		d.add("nodes", fine, fmt.Sprintf("%d of %s ready", good, count(int64(len(nodes)), "node", "nodes")), "")
	}
}

// leastFree is the free room below which /readyz has a warning, too (StatusMinFree).
const leastFree = 1 << 30

func (d *doctor) disk(dir string) {
	free, err := files.Free(dir)
	switch {
	case err != nil:
		d.add("disk", fault, err.Error(), "")
	case free < leastFree/8:
		d.add("disk", fault, bytesText(free)+" free", "free some room, or move the folder with --data")
	case free < leastFree:
		d.add("disk", warning, bytesText(free)+" free", "free some room; raw pages need it")
	default:
		d.add("disk", fine, bytesText(free)+" free", "")
	}
}

// keys checks that only the user can read the keys, which the daemon creates at its first start.
func (d *doctor) keys(dir string) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("keys", fine, "they are created with the first crawl", "")
	case err != nil:
		d.add("keys", fault, err.Error(), "")
	case info.Mode().Perm()&0o077 != 0:
		d.add("keys", fault, fmt.Sprintf("other users can read %s (mode %04o)", dir, info.Mode().Perm()), "chmod 700 "+dir)
	default:
		d.add("keys", fine, dir, "")
	}
}

func (d *doctor) configuration(n *node.Node) {
	good := true
	for _, name := range node.Names() {
		lines, err := n.CheckConfig(d.ctx, name)
		if err != nil {
			d.add("configuration", fault, err.Error(), "")
			good = false
		}
		for _, line := range lines {
			state, text := warning, strings.TrimPrefix(line, "warning: ")
			if !strings.HasPrefix(line, "warning:") {
				state, text = fault, strings.TrimPrefix(line, "error: ")
			}
			d.add("configuration", state, name+": "+text, "edit "+filepath.Join(n.Dir, "ini", name+".ini"))
			good = false
		}
	}
	if good {
		d.add("configuration", fine, filepath.Join(n.Dir, "ini"), "")
	}
}

// usual are the ports of dc-daemon.ini.
var usual = map[string]string{"5503": "serverPort of [AdminInterfaceServer]", "5504": "serverPort of [ClientInterfaceService]", "5580": "StatusPort of [StatusServer]"}

// ports checks that a daemon can listen on loopback, also one with the usual ports.
func (d *doctor) ports() {
	if err := listen("0"); err != nil {
		d.add("ports", fault, err.Error(), "allow programs to listen on the loopback address")
		return
	}
	d.add("ports", fine, "free ports on 127.0.0.1", "")
	for _, port := range slices.Sorted(maps.Keys(usual)) {
		if err := listen(port); errors.Is(err, syscall.EADDRINUSE) {
			d.add("ports", warning, "another program uses port "+port+"; hce crawl does not need it, but a dc-daemon with its usual ports does", "stop that program, or set another "+usual[port])
		}
	}
}

func listen(port string) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	return l.Close()
}

func (d *doctor) browser() {
	path := node.Browser()
	if path == "" {
		d.add("browser", warning, "no Chromium; pages of --browser sites get the error FETCHER_INTERNAL", "install chromium, or set path of [Browser] in crawler-task.ini")
		return
	}
	ctx, cancel := context.WithTimeout(d.ctx, 20*time.Second)
	defer cancel()
	text, err := node.Version(ctx, filepath.Dir(path), filepath.Base(path))
	d.is("browser", err, path+", "+text, "reinstall chromium")
}

// fewFiles is the limit of open files below which a daemon serves few connections.
const fewFiles = 1024

func (d *doctor) limits() {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	switch {
	case err != nil:
		d.add("open files", fault, err.Error(), "")
	case limit.Cur < fewFiles:
		d.add("open files", warning, fmt.Sprintf("the limit is %d", limit.Cur), fmt.Sprintf("ulimit -n %d", fewFiles))
	default:
		d.add("open files", fine, fmt.Sprintf("the limit is %d", limit.Cur), "")
	}
	dir := os.TempDir()
	d.is("temporary folder", config.Writable(dir), dir, "set TMPDIR to a folder that can be written")
}

// clock compares the clock with the time at which the programs were built or installed: politeness
// and recrawls depend on the clock.
func (d *doctor) clock(programs string) {
	now := time.Now()
	if info, err := os.Stat(filepath.Join(programs, "dc-daemon")); err == nil && info.ModTime().Sub(now) > time.Hour {
		d.add("clock", fault, fmt.Sprintf("it is %s, but the programs are from %s", now.Format(time.DateTime), info.ModTime().Format(time.DateTime)), "set the clock (timedatectl set-ntp true)")
		return
	}
	d.add("clock", fine, now.Format(time.RFC3339), "")
}

func (d *doctor) print() error {
	if d.json {
		return d.printJSON(d.found)
	}
	for _, f := range d.found {
		fmt.Fprintf(d.out, "%-8s %-17s %s\n", f.State, f.Check, f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(d.out, "%-8s %-17s   do: %s\n", "", "", f.Remedy)
		}
	}
	return nil
}
