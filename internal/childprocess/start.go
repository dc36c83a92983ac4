// Package childprocess starts programs that never outlive this process, and reserves ports for them.
//
//	ended, err := childprocess.Start(exec.Command("mariadbd", args...))
//	...
//	err = <-ended // how the child ended
//
// Linux kills the child when this process ends, for whatever reason. Other systems do
// not. The child has its own process group, so Ctrl-C on the terminal does not reach it.
package childprocess

import (
	"os"
	"os/exec"
	"runtime"
)

// Self returns a command that runs this program with other arguments. On Linux it is the
// program that runs now, even if its file was replaced.
func Self(args ...string) *exec.Cmd {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		path = os.Args[0]
		if p, err := os.Executable(); err == nil {
			path = p
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Args[0] = os.Args[0]
	return cmd
}

// Start starts cmd and sets its SysProcAttr. ended receives the result of cmd.Wait once.
// After an error ended never receives a value.
//
// Linux kills the child when the thread that started it ends, and Go ends idle threads.
// One goroutine therefore keeps its thread until the child has ended.
func Start(cmd *exec.Cmd) (ended <-chan error, err error) {
	cmd.SysProcAttr = processAttributes()
	started, result := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			result <- cmd.Wait()
		}
	}()
	return result, <-started
}

// Run starts cmd and waits for its end, as cmd.Run does.
func Run(cmd *exec.Cmd) error {
	ended, err := Start(cmd)
	if err != nil {
		return err
	}
	return <-ended
}
