// Package load tells how busy this machine is: the share of the processors in
// use, the share of time they wait for disks, the memory that programs can
// still get.
//
//	s := load.New(load.Config{})
//	for range time.Tick(load.Interval) {
//		err := s.Sample()
//		...
//	}
//	f := s.Figures() // from any goroutine, at no cost
//
// A machine is also what a control group leaves of it: in a container with a
// quota of two processors and 4 GB, two processors and 4 GB are the whole. Who
// decides by the figures is package executor, which starts the clock of the samples.
//
// Sources: proc_stat(5), proc_meminfo(5), proc_loadavg(5), cgroups(7), and of
// the kernel's documentation admin-guide/cgroup-v2 and cgroup-v1.
package load
