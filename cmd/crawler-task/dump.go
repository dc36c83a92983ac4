package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"hce/dc/internal/task"
)

// dumpVariable names the beginning of the files that batches are dumped to, for
// people who look for a fault (docs/spec/crawling.md 1.1).
const dumpVariable = "ENV_CRAWLER_STORE_PATH"

// dumped is a job whose batches are also written to <it>crawler.in.<id> and
// <it>crawler.out.<id>. A dump that fails stops nothing.
type dumped struct {
	task.Job
	begin string
	log   *slog.Logger
}

func (d dumped) Run(ctx context.Context, request json.RawMessage) (any, error) {
	var batch struct {
		ID json.Number `json:"id"`
	}
	// What is no batch, or has no number for an id, is for the job to refuse.
	_ = json.Unmarshal(request, &batch)
	id, err := batch.ID.Int64()
	if err != nil {
		return d.Job.Run(ctx, request)
	}
	d.write("in", id, request)
	answer, err := d.Job.Run(ctx, request)
	if err == nil {
		if text, err := json.Marshal(answer); err == nil {
			d.write("out", id, text)
		}
	}
	return answer, err
}

func (d dumped) write(kind string, id int64, text []byte) {
	name := fmt.Sprintf("%scrawler.%s.%d", d.begin, kind, id)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		d.log.Warn("a batch is not dumped", "variable", dumpVariable, "error", err)
	}
}
