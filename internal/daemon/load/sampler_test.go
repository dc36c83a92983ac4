package load

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// machine is a root folder with the files of a test, and a clock.
type machine struct {
	t    *testing.T
	root string
	now  time.Time
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, root: t.TempDir(), now: time.Unix(1e9, 0)}
	m.write("proc/stat", "cpu 0 0 0 1000 0 0 0 0\n")
	m.write("proc/meminfo", "MemAvailable: 1000 kB\n")
	m.write("proc/loadavg", "0.50 1 2 1/2 3\n")
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	full := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) sampler() *Sampler {
	return New(Config{Files: os.DirFS(m.root), Now: func() time.Time { return m.now }})
}

func sampled(t *testing.T, s *Sampler) Figures {
	t.Helper()
	if err := s.Sample(); err != nil {
		t.Fatal(err)
	}
	return s.Figures()
}

func TestSharesTakeTwoSamples(t *testing.T) {
	m := newMachine(t)
	s := m.sampler()
	if f := s.Figures(); f != (Figures{CPU: -1, IOWait: -1, FreeRAM: -1, Average: -1, Measuring: true}) {
		t.Errorf("before: %+v", f)
	}
	if f := sampled(t, s); f != (Figures{CPU: -1, IOWait: -1, FreeRAM: 1000 << 10, Average: 0.5, Measuring: true}) {
		t.Errorf("first: %+v", f)
	}
	m.write("proc/stat", "cpu 80 0 0 1010 10 0 0 0\n")
	if f := sampled(t, s); f != (Figures{CPU: 80, IOWait: 10, FreeRAM: 1000 << 10, Average: 0.5}) {
		t.Errorf("second: %+v", f)
	}
	for range 2 * window { // the window leaves the burst behind, and no time passes
		sampled(t, s)
	}
	if f := s.Figures(); f.CPU != 80 || f.Measuring {
		t.Errorf("no time passed: %+v", f)
	}
	m.write("proc/stat", "cpu 80 0 0 1110 10 0 0 0\n")
	if f := sampled(t, s); f.CPU != 0 || f.IOWait != 0 {
		t.Errorf("idle: %+v", f)
	}
}

// An unreadable figure is unknown and named in the error. It recovers.
func TestUnreadable(t *testing.T) {
	m := newMachine(t)
	s := m.sampler()
	sampled(t, s)
	m.write("proc/stat", "nothing")
	m.write("proc/meminfo", "")
	m.write("proc/loadavg", "")
	err := s.Sample()
	for _, name := range []string{"/proc/stat", "/proc/meminfo", "/proc/loadavg"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	if f := s.Figures(); f != (Figures{CPU: -1, IOWait: -1, FreeRAM: -1, Average: -1}) {
		t.Errorf("%+v", f)
	}
	m.write("proc/stat", "cpu 0 0 0 2000 0 0 0 0\n")
	m.write("proc/meminfo", "MemAvailable: 7 kB\n")
	m.write("proc/loadavg", "1 2 3\n")
	if f := sampled(t, s); f != (Figures{CPU: -1, IOWait: -1, FreeRAM: 7 << 10, Average: 1, Measuring: true}) {
		t.Errorf("%+v", f)
	}
	if err := New(Config{Files: os.DirFS(t.TempDir())}).Sample(); err == nil {
		t.Error("no error without any file")
	}
}

func TestControlGroups(t *testing.T) {
	const none = "9223372036854771712\n" // what version 1 writes for no limit
	tests := []struct {
		name   string
		files  map[string]string
		later  map[string]string // at the second sample, a second and 100 ticks later
		ram    int64
		cpu    float64
		groups int
	}{
		{name: "no control group", ram: 1000 << 10, cpu: 10},
		{name: "no limits", files: map[string]string{
			"proc/self/cgroup":                "0::/dc\n",
			"sys/fs/cgroup/dc/memory.max":     "max\n",
			"sys/fs/cgroup/dc/memory.current": "4096\n",
			"sys/fs/cgroup/dc/cpu.max":        "max 100000\n",
		}, ram: 1000 << 10, cpu: 10, groups: 2},
		{name: "version 2", files: map[string]string{
			"proc/self/cgroup":                "0::/dc\n",
			"sys/fs/cgroup/dc/memory.max":     "500000\n",
			"sys/fs/cgroup/dc/memory.current": "400000\n",
			"sys/fs/cgroup/dc/memory.stat":    "anon 1\ninactive_file 50000\nactive_file 7\n",
			"sys/fs/cgroup/dc/cpu.max":        "200000 100000\n",
			"sys/fs/cgroup/dc/cpu.stat":       "usage_usec 1000000\nuser_usec 5\n",
		}, later: map[string]string{
			"sys/fs/cgroup/dc/cpu.stat": "usage_usec 2500000\nuser_usec 5\n",
		}, ram: 150000, cpu: 75, groups: 2},
		{name: "limits of the parent group", files: map[string]string{
			"proc/self/cgroup":                  "0::/a/dc\n",
			"sys/fs/cgroup/a/memory.max":        "100000\n",
			"sys/fs/cgroup/a/memory.current":    "100001\n",
			"sys/fs/cgroup/a/cpu.max":           "50000 100000\n",
			"sys/fs/cgroup/a/cpu.stat":          "usage_usec 0\n",
			"sys/fs/cgroup/a/dc/memory.max":     "900000\n",
			"sys/fs/cgroup/a/dc/memory.current": "0\n",
			"sys/fs/cgroup/a/dc/cpu.max":        "max 100000\n",
			"sys/fs/cgroup/a/dc/cpu.stat":       "usage_usec 0\n",
		}, later: map[string]string{
			"sys/fs/cgroup/a/cpu.stat": "usage_usec 500000\n",
		}, ram: 0, cpu: 100, groups: 3},
		{name: "version 1", files: map[string]string{
			"proc/self/cgroup": "4:memory:/dc\n3:cpu,cpuacct:/dc\n0::/\n",
			"sys/fs/cgroup/memory/dc/memory.limit_in_bytes":  "600000\n",
			"sys/fs/cgroup/memory/dc/memory.usage_in_bytes":  "500000\n",
			"sys/fs/cgroup/memory/dc/memory.stat":            "inactive_file 1\ntotal_inactive_file 20000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     none,
			"sys/fs/cgroup/memory/memory.usage_in_bytes":     "1\n",
			"sys/fs/cgroup/cpu,cpuacct/dc/cpu.cfs_quota_us":  "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/dc/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/dc/cpuacct.usage":     "1000000000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":     "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":    "100000\n",
		}, later: map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/dc/cpuacct.usage": "1900000000\n",
		}, ram: 120000, cpu: 90, groups: 5},
		{name: "version 1, separate mounts, paths of the host", files: map[string]string{
			"proc/self/cgroup":                           "4:memory:/host/abc\n2:cpuacct:/host/abc\n1:cpu:/host/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "300000\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "100000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "400000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":        "100000\n",
			"sys/fs/cgroup/cpuacct/cpuacct.usage":        "0\n",
		}, later: map[string]string{
			"sys/fs/cgroup/cpuacct/cpuacct.usage": "2000000000\n",
		}, ram: 200000, cpu: 50, groups: 2},
		{name: "the machine is more limited than the group", files: map[string]string{
			"proc/self/cgroup":             "0::/\n",
			"sys/fs/cgroup/memory.max":     "999999999\n",
			"sys/fs/cgroup/memory.current": "1\n",
			"sys/fs/cgroup/cpu.max":        "200000 100000\n",
			"sys/fs/cgroup/cpu.stat":       "usage_usec 0\n",
			"sys/fs/cgroup/memory.stat":    "inactive_file 12\n",
		}, ram: 1000 << 10, cpu: 10, groups: 1},
		{name: "invalid files", files: map[string]string{
			"proc/self/cgroup":             "0::../../etc\nx\n::\n4:memory\n0::/\n",
			"sys/fs/cgroup/memory.max":     "-5\n",
			"sys/fs/cgroup/memory.current": "x\n",
			"sys/fs/cgroup/cpu.max":        "0 0\n",
		}, ram: 1000 << 10, cpu: 10, groups: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			for name, text := range tt.files {
				m.write(name, text)
			}
			s := m.sampler()
			if len(s.groups) != tt.groups {
				t.Errorf("%d groups: %+v", len(s.groups), s.groups)
			}
			sampled(t, s)
			m.now = m.now.Add(time.Second)
			m.write("proc/stat", "cpu 10 0 0 1090 0 0 0 0\n")
			for name, text := range tt.later {
				m.write(name, text)
			}
			if f := sampled(t, s); f.FreeRAM != tt.ram || f.CPU != tt.cpu {
				t.Errorf("%d bytes free, %v%% in use; want %d, %v", f.FreeRAM, f.CPU, tt.ram, tt.cpu)
			}
		})
	}
}

// TestThisMachine samples the real machine. The product supports Linux only.
func TestThisMachine(t *testing.T) {
	s := New(Config{})
	f := sampled(t, s)
	testwait.Until(t, "the kernel counts processor time", func() bool { f = sampled(t, s); return !f.Measuring })
	if f.CPU < 0 || f.IOWait < 0 || f.FreeRAM <= 0 || f.Average < 0 {
		t.Errorf("%+v", f)
	}
	t.Logf("%+v, groups %+v", f, s.groups)
}

func BenchmarkSample(b *testing.B) {
	s := New(Config{})
	for b.Loop() {
		if err := s.Sample(); err != nil {
			b.Fatal(err)
		}
	}
}

// The memory is that of the machine, or the smallest limit of a group. The soft limit of a process
// follows it, unless the environment sets one.
func TestMemory(t *testing.T) {
	m := newMachine(t)
	m.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n")
	if got := m.sampler().Memory(); got != 1000<<10 {
		t.Errorf("the machine has %d bytes", got)
	}
	m.write("proc/self/cgroup", "0::/a/dc\n")
	m.write("sys/fs/cgroup/a/memory.max", "100000\n")
	m.write("sys/fs/cgroup/a/dc/memory.max", "900000\n")
	s := m.sampler()
	if got := s.Memory(); got != 100000 {
		t.Errorf("the group has %d bytes", got)
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	m.write("sys/fs/cgroup/a/memory.max", "8000000000\n")
	m.write("sys/fs/cgroup/a/dc/memory.max", "4000000000\n")
	m.write("proc/meminfo", "MemTotal: 8000000 kB\n")
	for wanted, want := range map[int64]int64{1 << 30: 1 << 30, 1 << 40: 2000000000} {
		if s.SetMemoryLimit(wanted); debug.SetMemoryLimit(-1) != want {
			t.Errorf("for %d the limit is %d, want %d", wanted, debug.SetMemoryLimit(-1), want)
		}
	}
	t.Setenv("GOMEMLIMIT", "3GiB")
	debug.SetMemoryLimit(3 << 30)
	if s.SetMemoryLimit(1 << 30); debug.SetMemoryLimit(-1) != 3<<30 {
		t.Errorf("the limit of the environment became %d", debug.SetMemoryLimit(-1))
	}
	if got := New(Config{Files: os.DirFS(t.TempDir())}).Memory(); got != Unknown {
		t.Errorf("without /proc/meminfo %d bytes", got)
	}
}
