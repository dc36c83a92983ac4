// Package crawlprogram is crawler-task: it reads Batch objects from stdin, writes one answer line for each to stdout,
// and stores pages and links in the storage of the data node. A program that crawls in its own process reads the same
// settings:
//
//	settings, err := crawlprogram.ReadSettings(f, app, log)
//	job, closeJob, err := settings.Open(repository, log)
package crawlprogram

import (
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
)

var text = command.Text{
	Name: "crawler-task", Summary: "crawls batches of URLs",
	Description: `Reads Batch objects from stdin, one after the other, and answers each with one line on
stdout: the Batch with its remaining items (see examples/batch.json).

If the environment variable ENV_CRAWLER_STORE_PATH is set, each batch is also written to
the files <value>crawler.in.<id> and <value>crawler.out.<id>.

With --explain it reads no batches and stores nothing. It prints one JSON object with
every decision about the URL. It requests robots.txt from the host.`,
	Examples: `  crawler-task -c crawler-task.ini < batch.json
  crawler-task --explain http://example.org/ --fetch`,
	ExitStatus: `0 every answer can be trusted; 1 critical failure: ini file, unreadable input, database,
disk; 3 critical failure that the batch may have caused.`,
}

// Main runs crawler-task and returns its exit status.
func Main() int {
	var e explanation
	return taskprogram.Run(taskprogram.Program{
		Text: text, Open: e.openWithoutExplain, Batches: true, Machine: storage.Machine, Commands: []taskprogram.Command{e.command(), pausesCommand()},
		Memory: func(f *config.File) int64 { return readMemory(f.Section("CrawlerTask")) + otherMemory },
	})
}
