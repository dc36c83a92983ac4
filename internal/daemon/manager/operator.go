package manager

import (
	"encoding/json"
	"errors"

	"hce/dc/internal/wire"
)

// Suspension is the object of SUSPEND: 0 suspends, 1 lets run (docs/spec/daemon.md 4.2).
type Suspension struct {
	SuspendType int `json:"suspendType"`
	// Classes are the managers that are meant, in the order of the answer; none,
	// or "*", for all. A manager does not look at it.
	Classes []string `json:"classes,omitempty"`
}

// ReadSuspension reads the object of SUSPEND. The type must be given: nobody
// suspends a daemon by an empty request.
func ReadSuspension(object json.RawMessage) (Suspension, error) {
	s := Suspension{SuspendType: -1}
	if err := json.Unmarshal(object, &s); err != nil || s.SuspendType < 0 || s.SuspendType > 1 {
		return Suspension{}, errors.New("the object is not {suspendType: 0 or 1, classes: names}")
	}
	return s, nil
}

// serveAdmin declares the answers to the operator's five requests on a socket.
func (l *Loop) serveAdmin(socket string) {
	for eventType, serve := range map[int]Handler{
		wire.AdminStat:    l.AnswerStat,
		wire.AdminGet:     l.AnswerGet,
		wire.AdminSet:     l.AnswerSet,
		wire.AdminState:   l.answerState,
		wire.AdminSuspend: l.answerSuspend,
	} {
		l.Handle(socket, wire.ClassAdmin, eventType, serve)
	}
}

// announce tells AdminInterfaceServer that this manager serves.
func (l *Loop) announce() {
	if l.cfg.Admin != "" {
		l.Tell(AdminSocket, wire.InternalReady, wire.AdminCommand{ClassName: l.cfg.Name, Command: wire.CommandReady})
	}
}

// AnswerStat answers STAT about this manager.
func (l *Loop) AnswerStat(from Peer, e wire.Event) {
	if asked, ok := l.readFields(from, e); ok {
		l.Reply(from, e, wire.AdminStatAns, wire.AdminFields{ClassName: l.cfg.Name, Fields: l.stats.values(asked.Fields)})
	}
}

// AnswerGet answers GET about this manager.
func (l *Loop) AnswerGet(from Peer, e wire.Event) {
	if asked, ok := l.readFields(from, e); ok {
		l.Reply(from, e, wire.AdminGetAns, wire.AdminFields{ClassName: l.cfg.Name, Fields: l.vars.get(asked.Fields)})
	}
}

// AnswerSet does and answers SET on this manager.
func (l *Loop) AnswerSet(from Peer, e wire.Event) {
	if asked, ok := l.readFields(from, e); ok {
		values, refused := l.vars.set(asked.Fields)
		l.log.Info("variables set", "uid", e.UID, "values", values, "refused", refused)
		l.Reply(from, e, wire.AdminSetAns, wire.AdminFields{ClassName: l.cfg.Name, Fields: values, Errors: refused})
	}
}

func (l *Loop) readFields(from Peer, e wire.Event) (wire.AdminFields, bool) {
	var asked wire.AdminFields
	if err := json.Unmarshal(e.Object, &asked); err != nil {
		l.ReplyError(from, e, "the object is not {className, fields}: "+err.Error())
		return asked, false
	}
	return asked, true
}

// answerState leaves the loop when told so, after the answer (docs/spec/daemon.md 1.4).
func (l *Loop) answerState(from Peer, e wire.Event) {
	var asked wire.AdminCommand
	err := json.Unmarshal(e.Object, &asked)
	switch {
	case err != nil:
		l.ReplyError(from, e, "the object is not {className, command}: "+err.Error())
	case asked.ClassName != l.cfg.Name || asked.Command != wire.CommandShutdown:
		l.ReplyError(from, e, "only command 2 (shutdown) to "+l.cfg.Name+" is served")
	default:
		l.Reply(from, e, wire.AdminStateAns, wire.AdminCommand{ClassName: l.cfg.Name, Command: wire.CommandShutdown})
		l.log.Info("told to stop", "uid", e.UID)
		l.Leave()
	}
}

func (l *Loop) answerSuspend(from Peer, e wire.Event) {
	asked, err := ReadSuspension(e.Object)
	if err != nil {
		l.ReplyError(from, e, err.Error())
		return
	}
	l.Suspend(asked.SuspendType == 0)
	l.Reply(from, e, wire.AdminSuspendAns, wire.GeneralResponse{Statuses: []any{l.SuspendedText()}})
}

// Suspend makes the Every timers rest, or go on.
func (l *Loop) Suspend(on bool) {
	if l.suspended != on {
		l.suspended = on
		l.log.Info("suspension changed", "suspended", on)
	}
}

// SuspendedText is the state of the manager in words: suspended or running.
func (l *Loop) SuspendedText() string {
	if l.suspended {
		return "suspended"
	}
	return "running"
}
