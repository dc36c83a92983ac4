package load

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Interval is how often to call Sample.
const Interval = time.Second

// window is how many intervals the shares of time cover: long enough that a
// short burst does not decide, short enough that the end of a long one is seen.
const window = 5

// Unknown stands for a figure that cannot be told.
const Unknown = -1

// Figures are how busy the machine is. What the system does not tell is
// Unknown.
type Figures struct {
	CPU     float64 // percent of the processors that we may use, of the last seconds: 0 to 100, a little more under a quota
	IOWait  float64 // percent of the time in which processors waited for disks
	FreeRAM int64   // bytes that programs can still get
	Average float64 // load average over one minute
	// Measuring is set while CPU and IOWait are Unknown only because a share of
	// time takes two samples.
	Measuring bool
}

// Config says where to look. The zero value is this machine.
type Config struct {
	Files fs.FS            // the root of the file system; nil: that of the machine
	Now   func() time.Time // nil: time.Now
}

// Sampler turns what the system counts into Figures. Its methods may be called
// by any number of goroutines at once.
type Sampler struct {
	files  fs.FS
	now    func() time.Time
	groups []group

	sampling sync.Mutex // held by Sample, for the fields below
	samples  []sample   // the latest last, window+1 at most

	mu      sync.Mutex
	figures Figures
}

// sample is what was counted at one moment. The groups are those of the
// Sampler; a group without a quota has 0 processors.
type sample struct {
	at     time.Time
	ticks  ticks
	groups []spent
}

type spent struct {
	processors float64
	used       time.Duration
}

// New looks up the control groups and takes no sample yet.
func New(cfg Config) *Sampler {
	if cfg.Files == nil {
		cfg.Files = os.DirFS("/")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Sampler{
		files: cfg.Files, now: cfg.Now,
		groups:  findGroups(cfg.Files, head(cfg.Files, "proc/self/cgroup")),
		figures: Figures{CPU: Unknown, IOWait: Unknown, FreeRAM: Unknown, Average: Unknown, Measuring: true},
	}
}

// Figures are those of the last sample.
func (s *Sampler) Figures() Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.figures
}

// Sample reads what the system counts. The error names all that it does not
// tell; the other figures are fresh nevertheless.
func (s *Sampler) Sample() error {
	s.sampling.Lock()
	defer s.sampling.Unlock()
	f := s.Figures()

	average, averageErr := read(s.files, "proc/loadavg", parseAverage, Unknown)
	free, freeErr := read(s.files, "proc/meminfo", parseMeminfo, Unknown)
	for _, g := range s.groups {
		if left, bound := g.freeMemory(s.files); bound && freeErr == nil {
			free = min(free, left)
		}
	}
	f.Average, f.FreeRAM = average, free

	counted, statErr := read(s.files, "proc/stat", parseStat, ticks{})
	if statErr != nil {
		s.samples = nil
		f.CPU, f.IOWait, f.Measuring = Unknown, Unknown, false
	} else {
		s.add(counted)
		f = s.shares(f)
	}
	s.mu.Lock()
	s.figures = f
	s.mu.Unlock()
	return errors.Join(statErr, freeErr, averageErr)
}

// add keeps one more sample, and as many before it as the window holds.
func (s *Sampler) add(counted ticks) {
	one := sample{at: s.now(), ticks: counted, groups: make([]spent, len(s.groups))}
	for i, g := range s.groups {
		if processors, used, bound := g.quota(s.files); bound {
			one.groups[i] = spent{processors, used}
		}
	}
	s.samples = append(s.samples, one)
	if extra := len(s.samples) - (window + 1); extra > 0 {
		s.samples = append(s.samples[:0], s.samples[extra:]...)
	}
}

// shares writes the shares of time over the window into f. When the kernel has
// counted no time meanwhile, f keeps what it had.
func (s *Sampler) shares(f Figures) Figures {
	first, last := s.samples[0], s.samples[len(s.samples)-1]
	cpu, iowait, passed := last.ticks.shares(first.ticks)
	if !passed {
		f.Measuring = f.CPU == Unknown
		return f
	}
	// What others leave of the machine and what our group may use of it are
	// two bounds; the nearer one counts.
	if wall := last.at.Sub(first.at); wall > 0 {
		for i, now := range last.groups {
			was := first.groups[i]
			if now.processors == 0 || was.processors == 0 {
				continue // no quota, or not all the time
			}
			cpu = max(cpu, 100*float64(now.used-was.used)/(now.processors*float64(wall)))
		}
	}
	f.CPU, f.IOWait, f.Measuring = cpu, iowait, false
	return f
}

// maxHead is how much of a file is read. What we look for stands in the first
// few KiB; /proc/stat of a large machine goes on for much longer.
const maxHead = 64 << 10

// head reads the beginning of a file, "" when there is none.
func head(files fs.FS, name string) string {
	text, _ := read(files, name, func(text string) (string, error) { return text, nil }, "")
	return text
}

// read parses the beginning of a file; without one the value is none.
func read[T any](files fs.FS, name string, parse func(text string) (T, error), none T) (T, error) {
	f, err := files.Open(name)
	if err != nil {
		return none, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return none, err
	}
	value, err := parse(string(text))
	if err != nil {
		return none, err
	}
	return value, nil
}
