package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/process/reading"
	"hce/dc/internal/process/scraper"
	"hce/dc/internal/wire/errormask"
)

// ErrBudget means that a page exceeds the budget, or ends its workers.
var ErrBudget = errors.New("the page costs too much")

// ErrUnreadable means that nothing reads the content of a page.
var ErrUnreadable = errors.New("the page cannot be read")

// Answer reads a page in a worker and returns the JSON of a reading.Answer. The error wraps ErrBudget or ErrUnreadable, or says that ctx
// has ended or that no worker can be started.
func (w *Workers) Answer(ctx context.Context, q reading.Question, body []byte) (json.RawMessage, error) {
	out, err := w.runRequest(func(*worker) request { return request{Page: scraper.Page{Text: body}, Question: &q} },
		watch{over: func() bool { return ctx.Err() != nil }, slow: func() {}})
	switch {
	case errors.Is(err, errOver):
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case out.Bits&(errormask.ProcessorBudget|errormask.BatchItem) != 0:
		return nil, fmt.Errorf("%w: %s", ErrBudget, out.Message)
	case out.Item.Content == nil:
		return nil, fmt.Errorf("%w: %s", ErrUnreadable, out.Message)
	}
	return out.Item.Content, nil
}

// answerQuestion is the answer as the output of a worker.
func answerQuestion(q *reading.Question, body []byte) scraper.Output {
	text, err := q.Answer(body)
	if err != nil {
		return scraper.Output{Message: err.Error()}
	}
	return scraper.Output{Item: scraper.Item{Content: text}}
}
