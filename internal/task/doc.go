// Package task is the loop of a task program: it answers each JSON value on stdin with one
// line of JSON on stdout, until the input or the context ends.
//
//	func main() {
//		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
//		defer stop()
//		os.Exit(task.Main(ctx, job, task.Options{Name: "db-task", Log: log}))
//	}
//
// Packages crawl, process and storage implement [Job]. The executor of the daemon keeps
// task programs running and sends them one request per line.
//
// The exit status tells only whether the answers can be trusted. A refused request or a
// failed item does not change it. What may not live here: anything that knows what a
// request means. Source: docs/spec/DECISIONS.md 1.5.
package task
