package crawlprogram

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"hce/dc/internal/task"
)

// dumpVariable is the environment variable with the prefix of the dump files, for
// debugging (docs/spec/crawling.md 1.1).
const dumpVariable = "ENV_CRAWLER_STORE_PATH"

// dumped is a job that also writes its batches to <prefix>crawler.in.<id> and
// <prefix>crawler.out.<id>. A failed dump is logged only.
type dumped struct {
	task.Job
	prefix string
	log    *slog.Logger
}

func (d dumped) Run(ctx context.Context, request json.RawMessage) (any, error) {
	var batch struct {
		ID json.Number `json:"id"`
	}
	_ = json.Unmarshal(request, &batch) // the job rejects invalid batches
	id, err := batch.ID.Int64()
	if err != nil {
		return d.Job.Run(ctx, request)
	}
	d.writeBatch("in", id, request)
	answer, err := d.Job.Run(ctx, request)
	if err == nil {
		if text, err := json.Marshal(answer); err == nil {
			d.writeBatch("out", id, text)
		}
	}
	return answer, err
}

func (d dumped) writeBatch(kind string, id int64, text []byte) {
	name := fmt.Sprintf("%scrawler.%s.%d", d.prefix, kind, id)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		d.log.Warn("cannot dump a batch", "variable", dumpVariable, "error", err)
	}
}
