//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// fullRun is a run of a program of which a disk is full, in the arguments and variables DISK.
type fullRun struct {
	program, args, stdin string
	env                  []string
	// before runs while the disk has room.
	before func(t *testing.T, disk string)
	// fills: the disk becomes full with the first request to the site, and the program goes on when there is room. It
	// is interrupted when it has said why it waits.
	fills  bool
	status int
}

// noSpace is what a program says of a full disk.
var noSpace = regexp.MustCompile(`no space left in /\S+: \d[\d.]* k?M?B free; make room there`)

// Every program says in one short line which disk is full, with numbers.
func TestFullDiskIsSaid(t *testing.T) {
	t.Parallel()
	content := linked(8)
	w := newWitness(t, content)
	node := filepath.Join(t.TempDir(), "node")
	hce(t, 0, "crawl", w.URL+"/", loopback, "--delay", "0s", "--data", node)
	data, env := prepared(t, w.URL+"/")
	_ = data
	batchOfPage := strings.NewReplacer("%s", rig.SiteID(w.URL+"/")).Replace(strings.Replace(batch, `"url":"%s"`, `"url":"`+w.URL+`/"`, 1))
	for name, c := range map[string]fullRun{
		"hce crawl":         {program: "hce", args: "crawl URL " + loopback + " --data DISK/node", status: 3},
		"hce crawl goes on": {program: "hce", args: "crawl URL " + loopback + " --delay 0s --data DISK/node", fills: true, status: 3}, // it cannot suspend the site
		"hce export":        {program: "hce", args: "export ROOT --data NODE --format warc --out DISK/pages.warc", status: 3},
		"hce import": {program: "hce", args: "import warc DISK/pages.warc --data DISK/node", status: 3, before: func(t *testing.T, disk string) {
			hce(t, 0, "export", w.URL+"/", "--data", node, "--format", "warc", "--out", filepath.Join(disk, "pages.warc"))
		}},
		"db-task":               {program: "db-task", args: "-c INI/db-task.ini", stdin: `["SITE_NEW",{"urls":["http://127.0.0.1/"]}]`, env: []string{"DC_Application_data_dir=DISK", "DC_Application_log=stderr"}, status: 1},
		"crawler-task":          {program: "crawler-task", args: "-c INI/crawler-task.ini", stdin: batchOfPage, env: append(env, "DC_TasksManager_raw_data_dir=DISK/raw"), status: 1},
		"dc-daemon":             {program: "dc-daemon", args: "-c INI/dc-daemon.ini", env: []string{"DC_Application_data_dir=DISK", "DC_ClientInterfaceService_serverPort=0", "DC_AdminInterfaceServer_serverPort=0"}, status: 1},
		"dc-client":             {program: "dc-client", args: "-cmd SITE_STATUS -ff {} -dcc_clientPort 1 -o DISK/answer.json", status: 5},
		"dc-node":               {program: "dc-node", args: "-c INI/dc-node.ini", env: []string{"DC_Application_data_dir=DISK"}, status: 1},
		"dc-admin keygen":       {program: "dc-admin", args: "keygen --out DISK/keys --name operator", status: 2},
		"archive crawler":       {program: "archive", args: "crawler --root DISK/archive --interval 0 " + loopback + " URL", before: archiveIn, status: 3},
		"archive crawler waits": {program: "archive", args: "crawler --root DISK/archive --interval 0 --delay 0 " + loopback + " URL", before: archiveIn, fills: true, status: 4},
		"ose run":               {program: "ose", args: "run DISK/target --wait 0s " + loopback, before: func(t *testing.T, disk string) { ose(t, 0, "init", filepath.Join(disk, "target"), w.URL+"/") }, status: 3},
		"hce-search index":      {program: "hce-search", args: "index --once --data NODE --dir DISK/index", status: 3},
		"hce-webserver":         {program: "hce-webserver", args: "serve --data DISK/data --folder NODE", status: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.check(t, content, map[string]string{"NODE": node, "INI": ini, "ROOT": w.URL + "/"})
		})
	}
}

func archiveIn(t *testing.T, disk string) { archiveRun(t, 0, "init", filepath.Join(disk, "archive")) }

func (c fullRun) check(t *testing.T, content http.Handler, places map[string]string) {
	disk := filepath.Join(t.TempDir(), "disk")
	fill, _, _ := smallDisk(t, disk)
	if c.before != nil {
		c.before(t, disk)
	}
	var once sync.Once
	site := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.fills && r.URL.Path != "/robots.txt" {
			once.Do(fill)
		}
		content.ServeHTTP(w, r)
	}))
	if !c.fills {
		fill()
	}
	replace := []string{"DISK", disk, "URL", site.URL + "/"}
	for name, value := range places {
		replace = append(replace, name, value)
	}
	in := strings.NewReplacer(replace...)
	path, err := filepath.Abs(filepath.Join(bin, c.program))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, strings.Fields(in.Replace(c.args))...)
	cmd.Env = os.Environ()
	for _, value := range c.env {
		cmd.Env = append(cmd.Env, in.Replace(value))
	}
	talk := &testlog.Recorder{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), &bytes.Buffer{}, talk
	ended, err := childprocess.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if c.fills {
		testwait.UntilWithin(t, crawlLimit, "the program says that the disk is full: "+fmt.Sprint(cmd.Args), func() bool { return noSpace.MatchString(talk.String()) })
		_ = cmd.Process.Signal(os.Interrupt)
	}
	<-ended
	said := talk.String()
	if !noSpace.MatchString(said) || cmd.ProcessState.ExitCode() != c.status {
		t.Errorf("%v: exit status %d, want %d, and the folder that is full:\n%s", cmd.Args, cmd.ProcessState.ExitCode(), c.status, said)
	}
	if !c.fills && strings.Count(said, "\n") > 3 {
		t.Errorf("%v says more than three lines:\n%s", cmd.Args, said)
	}
}
