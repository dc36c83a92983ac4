package load

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// group is a control group that limits this process: its own, or a parent. An empty folder
// means that there is no such limit.
type group struct {
	v2     bool
	memory string // folder of the memory files
	cpu    string // of the quota
	used   string // of the used processor time; version 1 has a separate controller
}

// mount is where systems mount control groups.
const mount = "sys/fs/cgroup"

// maxDepth limits how many parents are searched.
const maxDepth = 16

// parseMembership parses /proc/self/cgroup: the path of this process by controller, "" for the
// unified hierarchy of version 2.
func parseMembership(text string) map[string]string {
	paths := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			paths[controller] = path.Clean(parts[2])
		}
	}
	return paths
}

// findGroups returns the groups that limit this process, of both versions, because a machine may
// use one for memory and the other for processors. In a container the paths are often those of
// the host and do not exist; the root of the mount, which is always listed, is then its group.
func findGroups(files fs.FS, membership string) []group {
	var list []group
	paths := parseMembership(membership)
	add := func(controller string, make func(folder string) group, roots ...string) {
		p, member := paths[controller]
		if !member {
			return
		}
		for _, root := range roots {
			if _, err := fs.Stat(files, root); err != nil {
				continue
			}
			for depth := 0; depth < maxDepth; depth++ {
				folder := path.Join(root, p)
				if _, err := fs.Stat(files, folder); err == nil {
					list = append(list, make(folder))
				}
				if p == "/" {
					break
				}
				p = path.Dir(p)
			}
			return
		}
	}
	add("", func(folder string) group { return group{v2: true, memory: folder, cpu: folder, used: folder} }, mount)
	add("memory", func(folder string) group { return group{memory: folder} }, mount+"/memory")
	add("cpu", func(folder string) group {
		// If the two controllers are mounted separately, their paths agree.
		rest := strings.TrimPrefix(strings.TrimPrefix(folder, mount+"/cpu,cpuacct"), mount+"/cpu")
		used := path.Join(mount, "cpuacct", rest)
		if strings.HasPrefix(folder, mount+"/cpu,cpuacct") {
			used = folder
		}
		return group{cpu: folder, used: used}
	}, mount+"/cpu,cpuacct", mount+"/cpu")
	return list
}

// mostMemory returns the group's limit; ok is false without one.
func (g group) mostMemory(files fs.FS) (most int64, ok bool) {
	if g.memory == "" {
		return 0, false
	}
	limit := "memory.limit_in_bytes"
	if g.v2 {
		limit = "memory.max"
	}
	return parseAmount(readHead(files, path.Join(g.memory, limit)))
}

// freeMemory returns the bytes below the group's limit; ok is false without a limit. Inactive
// file pages count as free, as in MemAvailable: a group that reads many files is full of them.
func (g group) freeMemory(files fs.FS) (free int64, ok bool) {
	most, ok := g.mostMemory(files)
	if !ok {
		return 0, false
	}
	used, cache := "memory.usage_in_bytes", "total_inactive_file"
	if g.v2 {
		used, cache = "memory.current", "inactive_file"
	}
	now, ok := parseAmount(readHead(files, path.Join(g.memory, used)))
	if !ok {
		return 0, false
	}
	back, _ := parseKeyed(readHead(files, path.Join(g.memory, "memory.stat")), cache)
	return min(max(most-now+min(back, now), 0), most), true
}

// readQuota returns how many processors the group may use and the processor time used so far; ok is
// false without a quota.
func (g group) readQuota(files fs.FS) (processors float64, used time.Duration, ok bool) {
	if g.cpu == "" {
		return 0, 0, false
	}
	if g.v2 {
		if processors, ok = parseQuota(readHead(files, path.Join(g.cpu, "cpu.max"))); !ok {
			return 0, 0, false
		}
		n, ok := parseKeyed(readHead(files, path.Join(g.used, "cpu.stat")), "usage_usec")
		return processors, time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond, ok
	}
	period, _, _ := strings.Cut(readHead(files, path.Join(g.cpu, "cpu.cfs_period_us")), "\n")
	amount, _, _ := strings.Cut(readHead(files, path.Join(g.cpu, "cpu.cfs_quota_us")), "\n")
	if processors, ok = parseQuota(amount + " " + period); !ok {
		return 0, 0, false
	}
	n, ok := parseAmount(readHead(files, path.Join(g.used, "cpuacct.usage")))
	return processors, time.Duration(n), ok
}

// unlimited is less than what version 1 writes for no limit, and more than any memory.
const unlimited = 1 << 60

// parseAmount parses a file with one number; ok is false for "max", other text and unlimited.
func parseAmount(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n >= 0 && n < unlimited
}

// parseQuota converts "quota period", both in the same unit, to processors.
func parseQuota(text string) (processors float64, ok bool) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0, false
	}
	quota, ok := parseAmount(fields[0])
	period, fine := parseAmount(fields[1])
	if !ok || !fine || quota == 0 || period == 0 {
		return 0, false
	}
	return float64(quota) / float64(period), true
}

// parseKeyed returns a number of a file with lines "key number".
func parseKeyed(text, key string) (int64, bool) {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, key+" "); found {
			return parseAmount(rest)
		}
	}
	return 0, false
}
