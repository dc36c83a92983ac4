//go:build e2e && soak

package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

const (
	soakPages = 400 // of a site
	// bigPage is the size of the pages whose deletion leaves dead segments.
	bigPage, bigPages = 40 << 10, 60
)

// soakKinds are the processes that are killed, in turns: those of a daemon, and a compaction that runs
// at the same time. A killed daemon also ends the pauses after killed tasks.
var soakKinds = []string{"crawler-task", "processor-task", "dc-daemon", "db-task", "compaction", "crawler-task", "dc-daemon"}

// soak is one node that is killed again and again.
type soak struct {
	*testing.T
	env    []string
	data   string
	temp   string
	sqlite bool
	random *rand.Rand

	r      *rig.Rig
	sites  []*soakedSite
	doomed string // a site that will be deleted
	origin *witness
	kills  map[string]int
}

// soakedSite is a site, and the kills during its crawl that may repeat requests.
type soakedSite struct {
	*witness
	id    string
	kills int
}

func init() { peerLimit = time.Second }

// Hundreds of SIGKILLs (SOAK_KILLS, 300) hit all programs at random moments of real crawls, on both
// databases and with both kinds of raw storage. At the end nothing is lost, torn, doubled or left.
func TestSoak(t *testing.T) {
	kills := 300
	if s := os.Getenv("SOAK_KILLS"); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	one, two := seed(t)
	for i, store := range []string{"segments", "files"} {
		t.Run(store, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, env []string) {
				s := &soak{
					T: t, data: t.TempDir(), temp: t.TempDir(), sqlite: strings.HasSuffix(env[0], "=sqlite"),
					random: rand.New(rand.NewPCG(one, two+uint64(i))), kills: map[string]int{},
				}
				s.env = append(env[:len(env):len(env)], "TMPDIR="+s.temp, "DC_TasksManager_raw_store="+store, "DC_TasksManager_raw_segment_size=1048576",
					fmt.Sprintf("DC_CrawlerTask_chunk_items=%d", chunk), "DC_CrawlerTask_chunk_time=50",
					"DC_BatchTasksManager_BatchDefaultMaxURLs=100", "DC_BatchTasksManagerProcess_BatchDefaultMaxURLs=100",
					// The URLs are not the cause of the failures.
					"DC_BatchTasksManager_BatchDefaultMaxAttempts=0", "DC_BatchTasksManagerProcess_BatchDefaultMaxAttempts=0")
				s.run((kills + 3) / 4)
			})
		})
	}
}

func (s *soak) run(kills int) {
	begin := time.Now()
	defer func() {
		if s.Failed() {
			s.describe()
		}
	}()
	big := &pages{texts: map[string]string{}, delay: 2 * time.Millisecond}
	for i := range bigPages {
		big.texts[fmt.Sprintf("/b%d.html", i)] = "<html><p>" + strings.Repeat(fmt.Sprint("big page ", i, " "), bigPage/12)
		big.texts["/"] += fmt.Sprintf(`<a href="/b%d.html">%d</a>`, i, i)
	}
	s.origin = newWitnessAt(s.T, "127.0.0.2", big)
	s.r = start(s.T, s.data, s.env...)
	s.more()
	for n := 0; s.killed() < kills; n++ {
		if n%10 == 0 {
			s.renewDoomed()
		}
		s.kill(soakKinds[n%len(soakKinds)])
		if s.Failed() {
			s.Fatalf("after %v kills", s.kills)
		}
	}
	took := time.Since(begin)
	s.judge()
	s.Logf("%d kills %v in %v, %v in all", s.killed(), s.kills, took.Round(time.Second), time.Since(begin).Round(time.Second))
}

// describe logs the state of the node: what its crawl waits for, if it does.
func (s *soak) describe() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, class := range []string{"BatchTasksManager", "SitesManager"} {
		stat, err := s.r.Stat(ctx, class)
		s.Logf("%s: %v, %v", class, stat, err)
	}
	for _, site := range s.sites[max(len(s.sites)-2, 0):] {
		var answer map[string]any
		err := s.r.Ask(ctx, "SITE_STATUS", map[string]any{"id": site.id}, &answer)
		s.Logf("site %s with %d requests: %v, %v", site.id, site.count(), answer, err)
		states := map[string]int{}
		for _, u := range rows(s.T, s.r, site.id) {
			states[fmt.Sprintf("Status %d State %d Batch_Id %d", u.Status, u.State, u.BatchID)]++
		}
		s.Logf("rows: %v", states)
	}
}

// killed returns the number of kills.
func (s *soak) killed() (n int) {
	for _, of := range s.kills {
		n += of
	}
	return n
}

// more starts another site.
func (s *soak) more() {
	w := newWitness(s.T, slowly(tree(soakPages), 2*time.Millisecond))
	s.sites = append(s.sites, &soakedSite{witness: w, id: newSite(s.T, s.r, rig.Site{Root: w.URL + "/"})})
}

// busy keeps a crawl running, so that every kill hits one.
func (s *soak) busy() *soakedSite {
	if s.sites[len(s.sites)-1].count() > soakPages*3/4 {
		s.more()
	}
	return s.sites[len(s.sites)-1]
}

// renewDoomed deletes the site with big pages, which leaves dead contents, and creates it again.
func (s *soak) renewDoomed() {
	if s.doomed != "" {
		if err := s.r.Ask(s.Context(), "SITE_DELETE", map[string]any{"id": s.doomed}, nil); err != nil {
			s.Fatal(err)
		}
	}
	s.doomed = newSite(s.T, s.r, rig.Site{Root: s.origin.URL + "/"})
}

// kill sends SIGKILL to a process of a kind at a random moment.
func (s *soak) kill(kind string) {
	current := s.busy()
	if kind == "compaction" {
		s.killCompaction()
		return
	}
	current.awaitRequests(s.T, s.random.IntN(20))
	var pid int
	testwait.UntilWithin(s.T, crawlLimit, "a "+kind+" runs", func() bool {
		s.busy()
		pid = s.process(kind)
		return pid != 0
	})
	time.Sleep(time.Duration(s.random.IntN(30)) * time.Millisecond) // any moment will do
	if syscall.Kill(pid, syscall.SIGKILL) != nil {
		return // it has ended
	}
	s.kills[kind]++
	if kind == "dc-daemon" || kind == "crawler-task" {
		for _, site := range s.sites {
			site.kills++
		}
	}
	if kind == "dc-daemon" {
		s.restart()
	}
}

// process returns a process of the daemon with a name, or 0.
func (s *soak) process(name string) int {
	if name == "dc-daemon" {
		return s.r.PID()
	}
	list := descendants(s.r.PID())
	s.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, pid := range list {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if strings.TrimSpace(string(comm)) == name {
			return pid
		}
	}
	return 0
}

func (s *soak) restart() {
	<-s.r.Ended()
	testwait.Until(s.T, "no task process is left", func() bool { return len(tasksOf(s.T, s.data, 0)) == 0 })
	if s.sqlite {
		onDeadDatabase(s.T, s.data, func(dead *sql.DB) {
			for _, site := range s.sites {
				checkCounters(s.T, dead, site.id)
			}
		})
	}
	s.r = start(s.T, s.data, s.env...)
}

// killCompaction kills a compaction of dead segments.
func (s *soak) killCompaction() {
	cmd := exec.Command(filepath.Join(bin, "db-task"), "-c", filepath.Join(ini, "db-task.ini"), "--compact-raw")
	cmd.Env = append(s.r.Env(), s.env...)
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(5+s.random.IntN(60))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	switch status := cmd.ProcessState; {
	case err == nil: // it was faster
	case status.Sys().(syscall.WaitStatus).Signaled():
		s.kills["compaction"]++
	default:
		s.Errorf("db-task --compact-raw: %v", err)
	}
}

// judge completes the crawls and checks everything.
func (s *soak) judge() {
	for _, site := range s.sites {
		finish(s.T, s.r, site.id)
	}
	requests, extra, busiest := 0, 0, 0
	for _, site := range s.sites {
		checkTree(s.T, s.r, s.data, site.id, site.URL, soakPages)
		var keys []string
		for _, u := range rows(s.T, s.r, site.id) {
			keys = append(keys, u.URLMd5)
		}
		for md5, list := range versionsOf(s.T, s.r, site.id, keys...) {
			if len(list) != 1 {
				s.Errorf("%s has %d versions of one body", md5, len(list))
			}
		}
		byPath := map[string]int{}
		for _, v := range site.requests() {
			if v.URL != "/robots.txt" {
				byPath[v.URL]++
			}
		}
		for path := range tree(soakPages).texts {
			if byPath[path] == 0 {
				s.Errorf("site %s: %s was not requested", site.id, path)
			}
		}
		for path, n := range byPath {
			if n > 1+site.kills {
				s.Errorf("%s: %d requests with %d kills", path, n, site.kills)
			}
			requests, extra, busiest = requests+n, extra+n-1, max(busiest, n)
		}
	}
	if most := (s.kills["dc-daemon"] + s.kills["crawler-task"]) * lostAtAKill(); extra > most {
		s.Errorf("%d repeated requests, want at most %d", extra, most)
	}
	if err := s.r.Ask(s.Context(), "SITE_DELETE", map[string]any{"id": s.doomed}, nil); err != nil {
		s.Error(err)
	}
	if err := s.r.Stop(limited(s.T)); err != nil {
		s.Fatal(err)
	}
	compacted := s.task("--compact-raw")
	checked := s.task("--check")
	var sum struct{ Faults, Without int }
	if err := json.Unmarshal([]byte(checked), &sum); err != nil || sum.Faults != 0 || sum.Without != 0 {
		s.Errorf("db-task --check: %s, %v", checked, err)
	}
	checkFolders(s.T, s.data, s.temp, true)
	s.Logf("%d sites, %d requests, %d of them repeated, at most %d per URL; compaction %s; check %s",
		len(s.sites), requests, extra, busiest, strings.TrimSpace(compacted), strings.TrimSpace(checked))
}

// task runs a command of db-task, which must succeed.
func (s *soak) task(option string) string {
	s.Helper()
	stdout, stderr, code := run(s.T, "db-task", []string{"-c", filepath.Join(ini, "db-task.ini"), option}, "", append(s.r.Env(), s.env...)...)
	if code != 0 {
		s.Errorf("db-task %s: exit status %d, %s", option, code, stderr)
	}
	return stdout
}
