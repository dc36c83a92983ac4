package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

// operations are the operations of db-task for clients.
func operations() (all []wire.Op) {
	for code := range 100 {
		if op := wire.Op(code); op.Client() && op != wire.BatchRun {
			all = append(all, op)
		}
	}
	return all
}

// The answer to an operation by code has the code plus 100 (docs/spec/DECISIONS.md 1.2). An
// empty list is a valid request.
func TestAnswersByCode(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		for _, op := range operations() {
			if !op.ListRequest() {
				continue
			}
			answer, err := n.job.Run(context.Background(), json.RawMessage(fmt.Sprintf("[%d,[]]", int(op))))
			if err != nil {
				t.Errorf("%s ends the task: %v", op, err)
				continue
			}
			raw, err := json.Marshal(answer)
			n.must(err)
			got := string(raw)
			list := fmt.Sprintf("[%d,[]]", int(op)+wire.ResponseOffset)
			general := fmt.Sprintf(`[%d,{"errorCode":0,"errorMessage":"","statuses":[]}]`, int(op)+wire.ResponseOffset)
			if got != list && got != general {
				t.Errorf("%s of an empty list: %s", op, got)
			}
		}
	})
}

// An object of a wrong type is refused with an error code and a reason, and changes nothing.
func TestWrongObjects(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		attacked(n)
		before := n.fingerprint()
		for _, op := range operations() {
			wrong := []string{`7`, `"text"`, `null`, `true`}
			if op.ListRequest() {
				wrong = append(wrong, `{}`, `[7]`, `[[]]`, `["text"]`)
			} else {
				wrong = append(wrong, `[7]`, `[[]]`)
			}
			for _, object := range wrong {
				answer := n.call(op.String(), object)
				switch r, isRefusal := refused(answer); {
				case strings.Contains(answer, "is not served yet"):
					t.Errorf("%s is not served yet", op)
				case !isRefusal || r.ErrorCode == 0 || r.ErrorMessage == "":
					t.Errorf("%s %s: %s", op, object, answer)
				}
			}
		}
		if changes := before.changes(n.fingerprint()); changes != nil {
			t.Errorf("the node changed: %v", changes)
		}
	})
}
