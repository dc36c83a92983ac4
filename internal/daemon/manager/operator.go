package manager

import (
	"encoding/json"
	"errors"

	"hce/dc/internal/wire"
)

// Suspension is the object of SUSPEND (docs/spec/daemon.md 4.2).
type Suspension struct {
	SuspendType int `json:"suspendType"` // 0 suspends, 1 resumes
	// Classes are the managers, in the order of the answer; empty or "*" for all. Only
	// AdminInterfaceServer reads it.
	Classes []string `json:"classes,omitempty"`
}

// ReadSuspension reads the object of SUSPEND. The type is mandatory, so that an empty request
// does not suspend a daemon.
func ReadSuspension(object json.RawMessage) (Suspension, error) {
	s := Suspension{SuspendType: -1}
	if err := json.Unmarshal(object, &s); err != nil || s.SuspendType < 0 || s.SuspendType > 1 {
		return Suspension{}, errors.New("the object is not {suspendType: 0 or 1, classes: names}")
	}
	return s, nil
}

// serveAdmin declares the handlers of the operator's five requests on a socket.
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

// announceReady reports to AdminInterfaceServer that this manager is ready.
func (l *Loop) announceReady() {
	if l.cfg.Admin != "" {
		l.Tell(AdminSocket, wire.InternalReady, wire.AdminCommand{ClassName: l.cfg.Name, Command: wire.CommandReady})
	}
}

// AnswerStat answers STAT about this manager.
func (l *Loop) AnswerStat(from Peer, e wire.Event) {
	if request, ok := l.readFields(from, e); ok {
		l.Reply(from, e, wire.AdminStatAns, wire.AdminFields{ClassName: l.cfg.Name, Fields: l.stats.selectValues(request.Fields)})
	}
}

// AnswerGet answers GET about this manager.
func (l *Loop) AnswerGet(from Peer, e wire.Event) {
	if request, ok := l.readFields(from, e); ok {
		l.Reply(from, e, wire.AdminGetAns, wire.AdminFields{ClassName: l.cfg.Name, Fields: selectValues(request.Fields, l.vars, func(v Variable) any { return v.Get() })})
	}
}

// AnswerSet changes variables of this manager and answers SET.
func (l *Loop) AnswerSet(from Peer, e wire.Event) {
	if request, ok := l.readFields(from, e); ok {
		values, refused := l.vars.setVariables(request.Fields)
		l.log.Info("variables set", "uid", e.UID, "values", values, "refused", refused)
		l.Reply(from, e, wire.AdminSetAns, wire.AdminFields{ClassName: l.cfg.Name, Fields: values, Errors: refused})
	}
}

func (l *Loop) readFields(from Peer, e wire.Event) (wire.AdminFields, bool) {
	var request wire.AdminFields
	if err := json.Unmarshal(e.Object, &request); err != nil {
		l.ReplyError(from, e, "the object is not {className, fields}: "+err.Error())
		return request, false
	}
	return request, true
}

// answerState answers STATE and then leaves the loop (docs/spec/daemon.md 1.4).
func (l *Loop) answerState(from Peer, e wire.Event) {
	var request wire.AdminCommand
	err := json.Unmarshal(e.Object, &request)
	switch {
	case err != nil:
		l.ReplyError(from, e, "the object is not {className, command}: "+err.Error())
	case request.ClassName != l.cfg.Name || request.Command != wire.CommandShutdown:
		l.ReplyError(from, e, "only command 2 (shutdown) to "+l.cfg.Name+" is served")
	default:
		l.Reply(from, e, wire.AdminStateAns, wire.AdminCommand{ClassName: l.cfg.Name, Command: wire.CommandShutdown})
		l.log.Info("stop requested", "uid", e.UID)
		l.Leave()
	}
}

func (l *Loop) answerSuspend(from Peer, e wire.Event) {
	request, err := ReadSuspension(e.Object)
	if err != nil {
		l.ReplyError(from, e, err.Error())
		return
	}
	l.Suspend(request.SuspendType == 0)
	l.Reply(from, e, wire.AdminSuspendAns, wire.GeneralResponse{Statuses: []any{l.SuspendedText()}})
}

// Suspend pauses or resumes the Every timers.
func (l *Loop) Suspend(on bool) {
	if l.suspended != on {
		l.suspended = on
		l.log.Info("suspension changed", "suspended", on)
	}
}

// ServeHold lets another manager suspend and resume this one with InternalHold on a socket,
// independent of operators: the manager works if neither of them has suspended it.
func (l *Loop) ServeHold(socket string) {
	l.Handle(socket, wire.ClassInternal, wire.InternalHold, func(from Peer, e wire.Event) {
		var h wire.Hold
		if err := json.Unmarshal(e.Object, &h); err != nil {
			l.ReplyError(from, e, "the object is not {held}: "+err.Error())
			return
		}
		if l.held != h.Held {
			l.held = h.Held
			l.log.Info("hold changed", "held", l.held)
		}
		l.Reply(from, e, wire.InternalHold+wire.ResponseOffset, wire.GeneralResponse{})
	})
}

// SuspendedText returns the state of the manager, "suspended" or "running".
func (l *Loop) SuspendedText() string {
	if l.Suspended() {
		return "suspended"
	}
	return "running"
}
