// Package load measures the load of this machine: the share of the processors in use, the share
// of time they wait for disks, and the available memory.
//
//	s := load.New(load.Config{})
//	for range time.Tick(load.Interval) {
//		err := s.Sample()
//		...
//	}
//	f := s.Figures() // from any goroutine, at no cost
//
// Limits of control groups count: in a container with a quota of two processors and 4 GB, two
// processors and 4 GB are the whole machine.
//
// Sources: proc_stat(5), proc_meminfo(5), proc_loadavg(5), cgroups(7), and the kernel's
// admin-guide/cgroup-v2 and cgroup-v1.
package load
