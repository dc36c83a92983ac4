package load

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// Interval is how often to call Sample.
const Interval = time.Second

// window is how many intervals the shares of time cover. A short burst must not decide, and the
// end of a long one must show soon.
const window = 5

// Unknown is the value of an unknown figure.
const Unknown = -1

// Figures describe the load of the machine. Unknown figures are Unknown.
type Figures struct {
	CPU     float64 // percent of the usable processors, over the last seconds; may exceed 100 under a quota
	IOWait  float64 // percent of the time in which processors waited for disks
	FreeRAM int64   // bytes available to programs
	Average float64 // load average over one minute
	// Measuring is true while CPU and IOWait are Unknown only because they need two samples.
	Measuring bool
}

// Config is where to measure. The zero value is this machine.
type Config struct {
	Files fs.FS            // the root of the file system; default that of the machine
	Now   func() time.Time // default time.Now
}

// Sampler computes Figures from counters of the system. It is safe for concurrent use.
type Sampler struct {
	files  fs.FS
	now    func() time.Time
	groups []group

	sampling sync.Mutex // held by Sample, for the fields below
	samples  []sample   // oldest first, at most window+1

	mu      sync.Mutex
	figures Figures
}

// sample has the counters at one moment. groups corresponds to those of the Sampler; a group
// without a quota has 0 processors.
type sample struct {
	at     time.Time
	ticks  ticks
	groups []spent
}

type spent struct {
	processors float64
	used       time.Duration
}

// New finds the control groups. It takes no sample.
func New(cfg Config) *Sampler {
	if cfg.Files == nil {
		cfg.Files = os.DirFS("/")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Sampler{
		files: cfg.Files, now: cfg.Now,
		groups:  findGroups(cfg.Files, readHead(cfg.Files, "proc/self/cgroup")),
		figures: Figures{CPU: Unknown, IOWait: Unknown, FreeRAM: Unknown, Average: Unknown, Measuring: true},
	}
}

// Memory returns the bytes of memory that this process may use at most: those of the machine, or
// of the control group with the smallest limit. It returns Unknown if the system does not say.
func (s *Sampler) Memory() int64 {
	most, err := readParsed(s.files, "proc/meminfo", parseTotal, Unknown)
	if err != nil {
		return Unknown
	}
	for _, g := range s.groups {
		if limit, ok := g.mostMemory(s.files); ok {
			most = min(most, limit)
		}
	}
	return most
}

// SetMemoryLimit sets the soft memory limit of this process (GOMEMLIMIT) to wanted bytes, and at
// most half of the memory, unless the environment sets it.
func (s *Sampler) SetMemoryLimit(wanted int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if most := s.Memory(); most > 0 {
		wanted = min(wanted, most/2)
	}
	debug.SetMemoryLimit(wanted)
}

// Figures returns the figures of the last sample.
func (s *Sampler) Figures() Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.figures
}

// Sample reads the counters of the system. The error joins all failures; the other figures are
// updated.
func (s *Sampler) Sample() error {
	s.sampling.Lock()
	defer s.sampling.Unlock()
	f := s.Figures()

	average, averageErr := readParsed(s.files, "proc/loadavg", parseAverage, Unknown)
	free, freeErr := readParsed(s.files, "proc/meminfo", parseMeminfo, Unknown)
	for _, g := range s.groups {
		if left, bound := g.freeMemory(s.files); bound && freeErr == nil {
			free = min(free, left)
		}
	}
	f.Average, f.FreeRAM = average, free

	counted, statErr := readParsed(s.files, "proc/stat", parseStat, ticks{})
	if statErr != nil {
		s.samples = nil
		f.CPU, f.IOWait, f.Measuring = Unknown, Unknown, false
	} else {
		s.addSample(counted)
		f = s.computeShares(f)
	}
	s.mu.Lock()
	s.figures = f
	s.mu.Unlock()
	return errors.Join(statErr, freeErr, averageErr)
}

// addSample appends a sample and drops those outside of the window.
func (s *Sampler) addSample(counted ticks) {
	one := sample{at: s.now(), ticks: counted, groups: make([]spent, len(s.groups))}
	for i, g := range s.groups {
		if processors, used, bound := g.readQuota(s.files); bound {
			one.groups[i] = spent{processors, used}
		}
	}
	s.samples = append(s.samples, one)
	if extra := len(s.samples) - (window + 1); extra > 0 {
		s.samples = append(s.samples[:0], s.samples[extra:]...)
	}
}

// computeShares computes the shares of time over the window. If the counters did not change, f keeps
// its values.
func (s *Sampler) computeShares(f Figures) Figures {
	first, last := s.samples[0], s.samples[len(s.samples)-1]
	cpu, iowait, passed := last.ticks.sharesSince(first.ticks)
	if !passed {
		f.Measuring = f.CPU == Unknown
		return f
	}
	// The load of the whole machine and the quota of our group are two limits; the one
	// closer to its end counts.
	if wall := last.at.Sub(first.at); wall > 0 {
		for i, now := range last.groups {
			was := first.groups[i]
			if now.processors == 0 || was.processors == 0 {
				continue // no quota during the whole window
			}
			cpu = max(cpu, 100*float64(now.used-was.used)/(now.processors*float64(wall)))
		}
	}
	f.CPU, f.IOWait, f.Measuring = cpu, iowait, false
	return f
}

// maxHead limits how much of a file is read. /proc/stat of a large machine is much longer, but
// only its first line is used.
const maxHead = 64 << 10

// readHead returns the beginning of a file, or "".
func readHead(files fs.FS, name string) string {
	text, _ := readParsed(files, name, func(text string) (string, error) { return text, nil }, "")
	return text
}

// readParsed parses the beginning of a file; after an error it returns none.
func readParsed[T any](files fs.FS, name string, parse func(text string) (T, error), none T) (T, error) {
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
