package main

import "slices"

// states has the states that are written, each at its id.
var states = []string{available, "", acknowledged, archiving, archived}

// call is a request that waits for its writes.
type call struct {
	seq    int64
	writes []*write
	left   int
	status string
	over   bool
}

// grouped shares what changed out to writes.
func (p *partition) grouped(offsets []int64) [][]int64 {
	size := max(1, len(offsets))
	if p.choices["write-two"] {
		size = (size + 1) / 2
	}
	if p.choices["write-each"] {
		size = 1
	}
	return slices.Collect(slices.Chunk(offsets, size))
}

// send makes writes, composed before the first is answered. Without a call what they say holds
// whatever they are answered.
func (p *partition) send(groups [][]int64, c *call) {
	var sent []*write
	for _, offsets := range groups {
		w := &write{ID: p.nextID, offsets: offsets, call: c, Status: none}
		p.nextID++
		sent = append(sent, w)
		for _, o := range offsets {
			if c != nil || p.choices["keep-back"] {
				p.records[o].write = w
			}
		}
	}
	for _, w := range sent {
		p.compose(w)
		if answers := p.asked.Answers; len(answers) > 0 {
			w.Status, p.asked.Answers = answers[0], answers[1:]
		}
		if w.Status == pending {
			p.outstanding[w.ID] = w
		}
	}
	p.writes = append(p.writes, sent...)
	if c != nil {
		c.writes, c.left = sent, len(sent)
	}
	for _, w := range sent {
		if w.Status != pending {
			p.answered(w, w.Status)
		}
	}
}

// compose gives a write its start offset, its count and its batches.
func (p *partition) compose(w *write) {
	start, after, kept := p.start, p.choices["start-after"], p.choices["start-kept"]
	if p.choices["start-mixed"] {
		after, kept = w.ID%3 == 1, w.ID%3 == 2
	}
	for after && start < p.end {
		r := p.records[start]
		if settles := r != nil && r.complete() && slices.Contains(w.offsets, start); !settles && !p.finished(start) {
			break
		}
		start++
	}
	w.Start, w.Count, w.Batches = start, 0, []row{}
	if kept && start == p.start && p.written == p.start && len(p.outstanding) == 0 && len(w.offsets) > 0 {
		w.Start = -1
	}
	if p.choices["no-count"] {
		w.Count = -1
	}
	for o := start; o < p.end; o++ {
		r := p.records[o]
		if r != nil && r.complete() && !p.choices["no-count"] {
			w.Count++
		}
		again := p.choices["rewrites"] && r != nil && r.durable && r.write == nil
		if again || slices.Contains(w.offsets, o) {
			told := row{o, o, int64(slices.Index(states, r.state)), int64(r.count)}
			w.Batches = append(w.Batches, told)
			if n := len(w.Batches) - 1; n > 0 && !p.choices["state-batch-each"] && w.Batches[n-1] == (row{w.Batches[n-1][0], o - 1, told[2], told[3]}) {
				w.Batches[n-1][1], w.Batches = o, w.Batches[:n]
			}
		}
	}
}

// answered takes the answer to a write, and settles what may be settled.
func (p *partition) answered(w *write, status string) {
	delete(p.outstanding, w.ID)
	if status == none {
		p.written = max(p.written, w.Start)
	}
	c := w.call
	if c == nil || p.choices["settles-each"] {
		p.settle(w, status)
	}
	if c == nil {
		return
	}
	if c.left--; status != none && c.status == none {
		c.status = status
	}
	if c.over || c.left > 0 && !(c.status != none && p.choices["fails-at-once"]) {
		return
	}
	c.over = true
	for _, other := range c.writes {
		p.settle(other, c.status)
	}
	if c.seq != p.asked.Seq {
		p.completed = append(p.completed, map[string]any{"seq": c.seq, "status": c.status})
	}
}

// settle ends a write: what it reports holds, or is as it was before.
func (p *partition) settle(w *write, status string) {
	var fallen []int64
	for _, o := range w.offsets {
		r := p.records[o]
		if r == nil || r.write != w {
			continue
		}
		r.write, r.durable = nil, status == none
		failed := r.failed
		if r.before != nil && status != none && !r.gone {
			if *r = *r.before; r.deadline <= p.now {
				r.state, r.owner, fallen = failed, nil, append(fallen, o)
			}
		}
		r.before = nil
	}
	if status == none {
		p.dropBelow(w.Start)
	}
	if p.choices["writes-after-rollback"] {
		p.send(p.grouped(fallen), nil)
	}
}

func (p *partition) completeWrite(op *operation) {
	if w := p.outstanding[op.ID]; w != nil {
		p.result["status"] = op.Status
		p.answered(w, op.Status)
	}
}
