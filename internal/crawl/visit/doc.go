// Package visit sends the requests for one item: robots.txt, gate, slot, request, redirects, at its host and at the hosts
// that it is redirected to.
//
//	v := env.NewVisit(it)
//	answer, err := v.FetchURL(ctx) // an error is a Refusal, an OtherNode, a NotYet, or a fault of fetch or browser
//	later := v.RetryOutcome()      // not nil: the URL is asked again later
//	v.LeaveSlot()
//
// It stores nothing. Visits share an Environment, which is all that they know of their batch.
package visit
