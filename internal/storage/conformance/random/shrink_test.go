package random_test

import (
	"encoding/json"
	"slices"
)

// shrinker cuts scripts. fails reports whether a script still fails with the same kind;
// spent reports whether the time is over.
type shrinker struct {
	fails func(script) bool
	spent func() bool
}

// shrink returns a part of s that fails as s does: fewer steps, then fewer objects and keys
// in them. It returns s if no part fails.
func (k shrinker) shrink(s script) script {
	s = k.end(s)
	for {
		before := size(s)
		s = k.steps(s)
		s = k.contents(s)
		if k.spent() || size(s) == before {
			return s
		}
	}
}

// size measures a script.
func size(s script) int {
	n := 0
	for _, st := range s.Steps {
		n += 10 + len(st.Request) + st.Wait
	}
	return n
}

func (k shrinker) try(s script, steps []step) (script, bool) {
	if k.spent() {
		return s, false
	}
	shorter := script{Note: s.Note, Steps: steps}
	if len(steps) == 0 || !k.fails(shorter) {
		return s, false
	}
	return shorter, true
}

// end keeps the fewest last steps that fail, alone or after all earlier SITE_NEW. It
// shortens a script of thousands of steps quickly.
func (k shrinker) end(s script) script {
	for n := 1; n < len(s.Steps); n *= 2 {
		cut := len(s.Steps) - n
		if shorter, ok := k.try(s, s.Steps[cut:]); ok {
			return shorter
		}
		var sites []step
		for _, st := range s.Steps[:cut] {
			if st.op() == "SITE_NEW" {
				sites = append(sites, st)
			}
		}
		if shorter, ok := k.try(s, append(sites, s.Steps[cut:]...)); ok {
			return shorter
		}
	}
	return s
}

// steps removes runs of steps, long runs first.
func (k shrinker) steps(s script) script {
	for n := (len(s.Steps) + 1) / 2; n > 0; n /= 2 {
		for at := 0; at < len(s.Steps); {
			shorter, ok := k.try(s, slices.Delete(slices.Clone(s.Steps), at, min(at+n, len(s.Steps))))
			if !ok {
				at += n
			}
			s = shorter
		}
	}
	return s
}

// contents shrinks each step: no wait, fewer objects of a list, fewer keys.
func (k shrinker) contents(s script) script {
	for i := range s.Steps {
		if s.Steps[i].Wait > 0 {
			steps := slices.Clone(s.Steps)
			steps[i].Wait = 0
			s, _ = k.try(s, steps)
		}
		s = k.request(s, i)
	}
	return s
}

func (k shrinker) request(s script, i int) script {
	for next := 0; ; {
		smaller, ok := without(s.Steps[i].Request, next)
		if !ok || k.spent() {
			return s
		}
		steps := slices.Clone(s.Steps)
		steps[i].Request = smaller
		shorter, ok := k.try(s, steps)
		if !ok {
			next++
		}
		s = shorter
	}
}

// without removes the n-th part of a request: an item of a list or a key of an object,
// counted from the outside; false if there are fewer. It keeps the pair of operation and
// object.
func without(request json.RawMessage, n int) (json.RawMessage, bool) {
	v, err := tree(request)
	pair, ok := v.(list)
	if err != nil || !ok || len(pair) != 2 {
		return nil, false
	}
	if pair[1], ok = drop(pair[1], &n); !ok {
		return nil, false
	}
	raw, err := plainJSON(pair)
	return raw, err == nil
}

// drop removes the n-th part of v and reduces n by the parts that it passes.
func drop(v any, n *int) (any, bool) {
	switch x := v.(type) {
	case list:
		if *n < len(x) {
			return slices.Delete(slices.Clone(x), *n, *n+1), true
		}
		*n -= len(x)
		for i := range x {
			if item, ok := drop(x[i], n); ok {
				x[i] = item
				return x, true
			}
		}
	case object:
		keys := sortedKeys(x)
		if *n < len(keys) {
			delete(x, keys[*n])
			return x, true
		}
		*n -= len(keys)
		for _, key := range keys {
			if item, ok := drop(x[key], n); ok {
				x[key] = item
				return x, true
			}
		}
	}
	return v, false
}
