package manager

import (
	"time"

	"hce/dc/internal/apps/search"
)

// Event types of class internal, requests. The answer has AnswerOffset more.
const (
	TypeAsk    = 2001 // a search.Ask; the answer is a search.Reply
	TypeTake   = 2002 // a Take; the answer is a Work
	TypeResult = 2003 // a Result; the answer is empty
	TypeAlive  = 2004 // an Alive; the answer is empty
	TypeStatus = 2005 // the answer is a Status
	TypeOpened = 2006 // an Opened; the answer is empty

	AnswerOffset = 100
)

// Join describes a processor.
type Join struct {
	ID          string        `json:"id"` // of the process
	Name        string        `json:"name"`
	Kinds       []search.Kind `json:"kinds"`
	Connections int           `json:"connections"`
	DelayMs     int64         `json:"delayMs"` // test delay of each answer
}

// MaxConnections of one processor.
const MaxConnections = 64

// isValid reports whether the values of a peer can be used.
func (j Join) isValid() bool {
	if j.ID == "" || len(j.ID) > 64 || len(j.Name) > 128 || len(j.Kinds) == 0 || len(j.Kinds) > 3 || j.Connections < 1 || j.Connections > MaxConnections {
		return false
	}
	for _, k := range j.Kinds {
		if !k.Valid() {
			return false
		}
	}
	return true
}

// Take asks for a question.
type Take struct {
	Join
	Slot int `json:"slot"` // of Connections, from 0
}

// Work is a question for a connection. Without ID the connection takes again.
type Work struct {
	ID       string     `json:"id,omitempty"`
	BudgetMs int64      `json:"budgetMs,omitempty"` // until its deadline
	Ask      search.Ask `json:"ask"`
}

// Result is the answer of a processor to a Work.
type Result struct {
	ID    string       `json:"id"`
	From  string       `json:"from"` // Join.ID
	Reply search.Reply `json:"reply"`
}

// Alive says what a processor is working on.
type Alive struct {
	Join
	Running []string `json:"running"` // Work.ID
}

// Opened says that a result was opened.
type Opened struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// Status is what the operator sees.
type Status struct {
	Since      time.Time   `json:"since"`
	Asked      int64       `json:"asked"` // questions
	Refused    int64       `json:"refused"`
	Late       int64       `json:"late"` // without an answer at their deadline
	Again      int64       `json:"again"`
	Waiting    int         `json:"waiting"`
	Running    int         `json:"running"`
	QueueLimit int         `json:"queueLimit"`
	Processors []Processor `json:"processors"`
	Words      []Ranked    `json:"words"`  // most asked
	Shown      []Ranked    `json:"shown"`  // most often in results
	Opened     []Ranked    `json:"opened"` // most often opened, or shown as cached copy
}

// Processor is the state of one processor.
type Processor struct {
	Join
	Joined    time.Time `json:"joined"`
	Heard     time.Time `json:"heard"`
	Lost      bool      `json:"lost"`
	Running   int       `json:"running"`
	Free      int       `json:"free"`  // connections that wait for a question
	Found     int64     `json:"found"` // questions with results
	Empty     int64     `json:"empty"` // without
	Failed    int64     `json:"failed"`
	Abandoned int64     `json:"abandoned"` // given to another processor
}

// Ranked is an entry of a ranking.
type Ranked struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Count int64  `json:"count"`
}
