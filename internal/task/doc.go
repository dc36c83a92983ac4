// Package task is the loop of a task binary: for each JSON value on standard
// input it runs one job and writes one line of JSON to standard output, until
// the input ends or a signal asks it to stop.
//
// The loop knows nothing of what a request says; crawl, process and storage are
// jobs, their commands are tiny mains around Main, and env keeps such binaries
// warm, feeding them one request per line. A batch piped in by hand gives one
// answer by the same road.
//
//	func main() {
//		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
//		defer stop()
//		os.Exit(task.Main(ctx, job, task.Options{Name: "db-task", Log: log}))
//	}
//
// The exit status tells only whether the answers can be trusted: a refused
// request or a failed item never changes it (docs/spec/DECISIONS.md 1.5).
package task
