package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/wire"
)

// changeEach does the elements of a list request in one transaction, each of them
// whole or not at all. Statuses has what do answers for each; one that is refused
// has the status refusal instead, and the first reason stands in ErrorMessage.
// Errors call an element op[i].
func changeEach[R, S any](ctx context.Context, s *Store, op string, list []R, refusal S, do func(t *tx, object string, r R) (S, error)) (wire.GeneralResponse, error) {
	var answer wire.GeneralResponse
	err := s.update(ctx, op, func(t *tx) error {
		answer = wire.GeneralResponse{Statuses: []any{}}
		for i, r := range list {
			status := refusal
			err := t.Try(func() (err error) {
				status, err = do(t, fmt.Sprintf("%s[%d]", op, i), r)
				return err
			})
			if err != nil {
				if !refused(err) {
					return err
				}
				status = refusal
				complain(&answer, err)
			}
			answer.Statuses = append(answer.Statuses, status)
		}
		return nil
	})
	return answer, err
}

// complain keeps the first reason.
func complain(answer *wire.GeneralResponse, err error) {
	if answer.ErrorMessage == "" {
		answer.ErrorMessage = message(err)
	}
}
