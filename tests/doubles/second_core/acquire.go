package main

import (
	"cmp"
	"slices"
)

// patience is how many fetches may pass over a record here; the KIPs have no number, profiles 10 and more.
const patience = 4

func (p *partition) free(offset int64) bool {
	r := p.records[offset]
	return r == nil && !p.missing[offset] || r != nil && r.state == available && r.write == nil
}

// fetchOffset is the first offset that can be acquired, if there is one.
func (p *partition) fetchOffset() (int64, bool) {
	for o := max(p.start, p.logStart); o < p.end; o++ {
		if p.free(o) {
			return o, true
		}
	}
	return p.end, p.end-p.start < p.config.Locks
}

func (p *partition) acquire(op *operation) {
	at, can := p.fetchOffset()
	if !can {
		p.advance(true)
		at, can = p.fetchOffset()
	}
	if !can {
		p.told["skipped"], p.result["can_acquire"] = true, false
		return
	}
	read := []span{}
	for _, b := range op.Log {
		if b[1] >= at && len(read) < op.MaxLog && !(p.choices["one-batch"] && len(read) > 0) {
			read = append(read, b)
		}
	}
	p.learn(at, read)
	from := p.candidates(read, op)
	p.fetches++
	idle := p.choices["nothing"] && p.fetches%3 == 0 && len(from) > 0
	if len(from) == 0 {
		if len(read) > 0 && p.start == p.end {
			p.dropBelow(read[0][0])
		}
		p.advance(true)
		from = p.candidates(read, op)
	}
	taken := p.choose(from, read, op, idle)
	p.deliver(taken, read, op)
	if p.choices["enters-read"] && len(from) > 0 {
		p.extend(from[len(from)-1]+1, read)
	}
	for _, o := range from {
		if len(taken) == 0 || o < taken[0] {
			p.passed[o]++
		}
	}
	p.told["fetch_offset"], p.told["log_batches"] = at, read
}

// learn notes which offsets a read skips: they are not in the log.
func (p *partition) learn(at int64, read []span) {
	if len(read) > 0 && p.start == p.end && p.choices["jumps"] {
		p.dropBelow(read[0][0])
	}
	late := p.choices["late-compaction"] && p.fetches%2 == 1
	for i, b := range read {
		for o := at; o < min(b[0], p.end) && !late && (i == 0 || p.choices["gap-inside"]); o++ {
			if r := p.records[o]; r == nil {
				p.missing[o] = o >= p.start
			} else if r.state == available {
				r.state, r.gone = archived, true
			}
		}
		at = b[1] + 1
	}
}

// candidates are the offsets of a read that may be acquired, in order.
func (p *partition) candidates(read []span, op *operation) []int64 {
	var found []int64
	for _, b := range read {
		crosses := p.choices["crosses"] && op.Mode == "batch_optimized" && max(b[0], p.end) < p.start+p.config.Locks
		for o := max(b[0], p.start, op.LogStart); o <= b[1]; o++ {
			if o < p.end && p.free(o) || o >= p.end && (crosses || o < p.start+p.config.Locks) {
				found = append(found, o)
			}
		}
	}
	return found
}

// choose takes as many as are asked for: the oldest, the newest, half of them or none.
func (p *partition) choose(from []int64, read []span, op *operation, idle bool) []int64 {
	patient := !slices.ContainsFunc(from, func(o int64) bool { return p.passed[o] >= patience })
	if idle && patient {
		return nil
	}
	most, newest := op.Max, p.choices["newest"] && patient
	if p.choices["half"] {
		most = (most + 1) / 2
	}
	if from = slices.Clone(from); newest {
		slices.Reverse(from)
	}
	var taken []int64
	for _, o := range from {
		free := p.choices["aborted-uncounted"] && p.withheld(o, op)
		if most <= 0 && !free {
			rest := p.choices["whole-batches"] && op.Mode == "batch_optimized" && !newest && len(taken) > 0
			if !rest || batchOf(read, o) != batchOf(read, taken[len(taken)-1]) {
				break
			}
		}
		if taken = append(taken, o); !free {
			most--
		}
	}
	slices.Sort(taken)
	return taken
}

func batchOf(read []span, offset int64) int {
	return slices.IndexFunc(read, func(b span) bool { return b[0] <= offset && offset <= b[1] })
}

// withheld says that a record is data of an aborted transaction that this group does not read.
func (p *partition) withheld(offset int64, op *operation) bool {
	return p.config.Isolation == "read_committed" && batchOf(op.Aborted, offset) >= 0
}

// extend lets the window grow over what was read.
func (p *partition) extend(end int64, read []span) {
	for ; p.end < end; p.end++ {
		if p.missing[p.end] = batchOf(read, p.end) < 0; !p.missing[p.end] {
			p.records[p.end] = &record{state: available}
		}
	}
}

func (p *partition) deliver(taken []int64, read []span, op *operation) {
	rows := [][3]int64{}
	for _, o := range taken {
		p.extend(o+1, read)
		r := cmp.Or(p.records[o], &record{})
		p.records[o] = r
		delete(p.passed, o)
		if p.withheld(o, op) {
			if *r = (record{state: archived, count: r.count}); !p.choices["aborted-uncounted"] {
				r.count++
			}
			continue
		}
		*r = record{state: acquired, count: r.count + 1, owner: op.Member, deadline: p.now + p.config.Duration}
		rows = append(rows, [3]int64{o, o, int64(r.count)})
	}
	for o, r := range p.records {
		if r.state == acquired && r.write == nil && batchOf(read, o) >= 0 && p.withheld(o, op) {
			*r = record{state: archived, count: r.count} // held since the group read it uncommitted
		}
	}
	p.result["acquired"], p.result["count"] = rows, len(rows)
}
