//go:build e2e && soak

package e2e

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/testkit/testwait"
)

// clockVariable names the file with the jump of a program's wall clock, in seconds.
const clockVariable = "SOAK_CLOCK"

// jumpFile is added to the package time of the programs under test.
const jumpFile = `package time

import (
	"syscall"
	"unsafe"
)

var jump = new(int64)

func init() {
	path, set := syscall.Getenv("` + clockVariable + `")
	if !set {
		return
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err == nil {
		var page []byte
		page, err = syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
		syscall.Close(fd)
		if err == nil {
			jump = (*int64)(unsafe.Pointer(&page[0]))
		}
	}
	if err != nil {
		panic("` + clockVariable + `: " + err.Error())
	}
}
`

// jumpingPrograms builds all programs with a wall clock that the test can set while they run, and
// returns their folder and that of their ini files. A Go program reads the clock without a system
// call, so no library or tracer can change what it reads; the machine's clock belongs to all. So the
// one line of time.Now that reads the wall clock adds the number in a shared page. The monotonic
// clock stays as it is, as it does when a real clock is set.
func jumpingPrograms(t *testing.T) (bin, ini string) {
	t.Helper()
	folder, err := filepath.Abs("../.cache/soak") // Go builds again only what has changed
	if err != nil {
		t.Fatal(err)
	}
	bin, ini = filepath.Join(folder, "bin"), filepath.Join(folder, "ini")
	root := command(t, "go", "env", "GOROOT")
	source := filepath.Join(root, "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const reads = "sec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), reads) != 1 {
		t.Fatalf("%s has not one line %q: change this test for the Go version", source, reads)
	}
	changed := filepath.Join(folder, "time.go")
	added := filepath.Join(folder, "jump.go")
	if err := errors.Join(os.MkdirAll(bin, 0o700), os.RemoveAll(ini), os.CopyFS(ini, os.DirFS("../ini"))); err != nil {
		t.Fatal(err)
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{source: changed, filepath.Join(root, "src", "time", "jump.go"): added}})
	for path, content := range map[string][]byte{
		changed: []byte(strings.Replace(string(text), reads, reads+"\tsec += *jump\n", 1)),
		added:   []byte(jumpFile), filepath.Join(folder, "overlay.json"): overlay,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "go", "build", "-buildvcs=false", "-overlay", filepath.Join(folder, "overlay.json"), "-o", bin+"/", "../cmd/...")
	return bin, ini
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// wallClock is the file with the jump of one machine.
type wallClock string

func newWallClock(t *testing.T) wallClock {
	t.Helper()
	c := wallClock(filepath.Join(t.TempDir(), "clock"))
	c.set(t, 0)
	return c
}

// set sets the clock to the true time and a jump.
func (c wallClock) set(t testing.TB, jump time.Duration) {
	f, err := os.OpenFile(string(c), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(jump/time.Second))), 0); err != nil {
		t.Error(err)
	}
}

func (c wallClock) env() string { return clockVariable + "=" + string(c) }

// disk is a disk of its own: an ext4 file system in a file.
type disk struct{ folder, filler string }

const diskSize = 640 << 20

// newDisk mounts a new disk at folder. The test's end removes it.
func newDisk(t *testing.T, folder string) *disk {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, diskSize), os.MkdirAll(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	command(t, "mkfs.ext4", "-q", "-F", "-m", "0", image)
	command(t, "mount", "-o", "loop", image, folder)
	d := &disk{folder: folder, filler: filepath.Join(folder, "filler")}
	t.Cleanup(func() {
		d.thaw(t)
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill leaves no free byte.
func (d *disk) fill(t testing.TB) {
	f, err := os.Create(d.filler)
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
		return
	}
	defer f.Close()
	var free unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &free); err == nil {
		_ = unix.Fallocate(int(f.Fd()), 0, 0, int64(free.Bavail)*free.Bsize) // fails at the end
	}
	block := make([]byte, 4096)
	end, _ := f.Seek(0, 2)
	for err == nil {
		_, err = f.WriteAt(block, end)
		end += int64(len(block))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

// free ends fill.
func (d *disk) free(t testing.TB) {
	if err := os.Remove(d.filler); err != nil {
		t.Error(err)
	}
}

// FIFREEZE and FITHAW of linux/fs.h.
const fiFreeze, fiThaw = 0xC0045877, 0xC0045878

// freeze makes all writes wait until thaw, as those to a disk that does not answer. Other work of
// the processes goes on.
func (d *disk) freeze(t testing.TB) {
	if err := d.ioctl(fiFreeze); err != nil {
		t.Errorf("freeze %s: %v", d.folder, err)
	}
}

func (d *disk) thaw(t testing.TB) {
	if err := d.ioctl(fiThaw); err != nil && !errors.Is(err, syscall.EINVAL) { // it is not frozen
		t.Errorf("thaw %s: %v", d.folder, err)
	}
}

func (d *disk) ioctl(what uint) error {
	f, err := os.Open(d.folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetInt(int(f.Fd()), what, 0)
}

// stopTree stops a process and all below it, as a machine that pauses; goOn continues them.
func stopTree(pid int) (goOn func()) {
	stopped := []int{pid}
	_ = syscall.Kill(pid, syscall.SIGSTOP) // first: it starts no other
	for again := true; again; {
		again = false
		for _, child := range descendants(pid) {
			if !slices.Contains(stopped, child) {
				_ = syscall.Kill(child, syscall.SIGSTOP)
				stopped, again = append(stopped, child), true
			}
		}
	}
	return func() {
		for _, pid := range slices.Backward(stopped) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// natsServers are three processes of nats-server, with the configuration that docs/operations.md
// asks for: that of the head, and a cluster.
type natsServers struct {
	*testing.T
	program string
	folder  string
	urls    []string
	cmds    []*exec.Cmd
	ended   []<-chan error
}

// startServers builds and starts three servers for a head with a data folder.
func startServers(t *testing.T, headData string) *natsServers {
	t.Helper()
	s := &natsServers{T: t, folder: t.TempDir(), cmds: make([]*exec.Cmd, 3), ended: make([]<-chan error, 3)}
	s.program, _ = filepath.Abs("../.cache/soak/nats-server")
	command(t, "go", "build", "-o", s.program, "github.com/nats-io/nats-server/v2")
	keys, err := broker.OpenKeys(filepath.Join(headData, "cluster", "keys"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := keys.List()
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(headData, "cluster", "nats-users.conf")
	if err := errors.Join(os.WriteFile(users, []byte(broker.ExternalConfig(list)), 0o600), os.Symlink(users, filepath.Join(s.folder, "nats-users.conf"))); err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, 6)
	var routes []string
	for i := range 3 {
		s.urls = append(s.urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]))
	}
	for i := range 3 {
		text := fmt.Sprintf(`include nats-users.conf
server_name: s%d
listen: "127.0.0.1:%d"
jetstream { store_dir: %q, sync_interval: always, max_memory_store: 1GB, max_file_store: 20GB }
cluster { name: dc, listen: "127.0.0.1:%d", no_advertise: true, routes: [%s] }
`, i, ports[i], filepath.Join(s.folder, fmt.Sprint("store", i)), ports[3+i], strings.Join(routes, ", "))
		if err := os.WriteFile(s.config(i), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.start(i)
	}
	t.Cleanup(func() {
		for i := range s.cmds {
			s.kill(i)
		}
	})
	for _, port := range ports[:3] {
		testwait.Until(t, "a NATS server listens", func() bool {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	return s
}

func (s *natsServers) config(i int) string {
	return filepath.Join(s.folder, fmt.Sprintf("s%d.conf", i))
}

// log is what a server wrote.
func (s *natsServers) log(i int) string { return filepath.Join(s.folder, fmt.Sprintf("s%d.out", i)) }

func (s *natsServers) start(i int) {
	out, err := os.OpenFile(s.log(i), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.Error(err)
		return
	}
	defer out.Close()
	s.cmds[i] = exec.Command(s.program, "-c", s.config(i))
	s.cmds[i].Stdout, s.cmds[i].Stderr = out, out
	if s.ended[i], err = childprocess.Start(s.cmds[i]); err != nil {
		s.Error(err)
	}
}

// kill is kill -9.
func (s *natsServers) kill(i int) {
	if s.cmds[i] != nil {
		_ = s.cmds[i].Process.Kill()
		<-s.ended[i]
		s.cmds[i] = nil
	}
}

// reload makes the servers read the keys.
func (s *natsServers) reload() error {
	reloads := func(i int) int {
		text, _ := os.ReadFile(s.log(i))
		return strings.Count(string(text), "Reloaded server configuration")
	}
	for i := range s.cmds {
		before := reloads(i)
		if err := s.cmds[i].Process.Signal(syscall.SIGHUP); err != nil {
			return err
		}
		testwait.Until(s.T, "a NATS server reads its configuration", func() bool { return reloads(i) > before })
	}
	return nil
}
