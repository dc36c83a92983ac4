package fileserver

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

var errQueueTime = errors.New("the time in the queue is over")

// queue lets a number of requests pass at once, and the others in the order of their arrival.
type queue struct {
	mu       sync.Mutex
	free     int
	working  int
	waiting  list.List // of chan struct{}, closed when its request may pass
	longest  int
	timedOut int64
}

// enterQueue waits for a place, at most for limit. After nil the caller must call leaveQueue.
func (q *queue) enterQueue(ctx context.Context, limit time.Duration) error {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.working++
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	place := q.waiting.PushBack(turn)
	q.longest = max(q.longest, q.waiting.Len())
	q.mu.Unlock()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-turn:
		return nil
	case <-timer.C:
		return q.giveUp(place, turn, errQueueTime)
	case <-ctx.Done():
		return q.giveUp(place, turn, ctx.Err())
	}
}

// giveUp removes a request from the queue. It returns nil if its turn came in the meantime.
func (q *queue) giveUp(place *list.Element, turn <-chan struct{}, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-turn:
		return nil
	default:
	}
	q.waiting.Remove(place)
	if errors.Is(err, errQueueTime) {
		q.timedOut++
	}
	return err
}

// leaveQueue gives the place to the first request of the queue.
func (q *queue) leaveQueue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if first := q.waiting.Front(); first != nil {
		close(q.waiting.Remove(first).(chan struct{}))
		return
	}
	q.free++
	q.working--
}

func (q *queue) queueStatus() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Status{Working: q.working, Waiting: q.waiting.Len(), LongestWait: q.longest, TimedOut: q.timedOut}
}
