package command

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
)

// ProfileDir is the environment variable that names a folder for profiles of processor time:
// PROGRAM.PID.pprof for each process that ends by itself. It is for developers.
const ProfileDir = "HCE_PROFILE_DIR"

// Profiled runs work with a profile of this process, if ProfileDir asks for it.
func Profiled(name string, work func() int) int {
	defer startProfile(name)()
	return work()
}

// startProfile starts the profile of this process and returns the function that ends it. A
// failure is reported on stderr and changes nothing else.
func startProfile(name string) (stop func()) {
	dir := os.Getenv(ProfileDir)
	if dir == "" {
		return func() {}
	}
	file, err := os.Create(filepath.Join(dir, name+"."+strconv.Itoa(os.Getpid())+".pprof"))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: start profile: %v\n", name, err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: write profile: %v\n", name, err)
		}
	}
}
