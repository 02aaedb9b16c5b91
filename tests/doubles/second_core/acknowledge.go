package main

import (
	"encoding/json"
	"maps"
	"slices"
)

const gap, accept, release, reject, renew = 0, 1, 2, 3, 4
const invalidRequest, invalidState = "INVALID_REQUEST", "INVALID_RECORD_STATE"

// batch is one acknowledgement batch: a type for each offset, or one for all.
type batch struct {
	first, last int64
	types       []int
}

func (b *batch) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&b.first, &b.last, &b.types})
}

// malformed returns the error of a request that no state could accept.
func (p *partition) malformed(batches []batch) string {
	overlap := false
	for i, b := range batches {
		size := b.last - b.first + 1
		known := !slices.ContainsFunc(b.types, func(t int) bool { return t < gap || t > renew })
		descends := i > 0 && b.first < batches[i-1].first
		if b.first < 0 || size < 1 || !known || descends || len(b.types) != 1 && int64(len(b.types)) != size {
			return invalidRequest
		}
		shares := p.kafka && !p.choices["strict-order"] && i > 0 && b.first == batches[i-1].last
		overlap = overlap || i > 0 && b.first <= batches[i-1].last && !shares
	}
	if overlap {
		return p.either("overlap-request")
	}
	return none
}

func (p *partition) either(name string) string {
	if p.choices[name] {
		return invalidRequest
	}
	return invalidState
}

func (p *partition) acknowledge(op *operation) {
	ends, renewals, status := p.judge(op)
	if status == none || p.kafka && !p.choices["no-renewal-if-refused"] {
		for _, o := range renewals {
			p.records[o].deadline = p.now + p.config.Duration
		}
	}
	if p.result["status"] = status; status != none {
		return
	}
	offsets := slices.Sorted(maps.Keys(ends))
	for _, o := range offsets {
		p.conclude(p.records[o], ends[o])
	}
	p.report(offsets)
}

// judge returns how deliveries end, what is renewed, and the first error.
func (p *partition) judge(op *operation) (ends map[int64]int, renewals []int64, status string) {
	if status = p.malformed(op.Batches); status != none {
		return nil, nil, status
	}
	ends = map[int64]int{}
	for _, b := range op.Batches {
		past := b.last >= max(p.end, p.start)
		if past && !p.choices["renews-before-the-end"] {
			return nil, renewals, p.either("past-end-request")
		}
		for o := max(b.first, p.start); o <= min(b.last, p.end-1); o++ {
			r := p.records[o]
			if r == nil && !p.choices["refuses-undelivered"] {
				continue
			}
			_, over := ends[o]
			if r == nil || over || r.state != acquired || r.owner != op.Member || r.write != nil {
				return nil, renewals, invalidState
			}
			kind := b.types[(o-b.first)%int64(len(b.types))]
			if kind != renew {
				ends[o] = kind
				continue
			}
			if p.config.Renew != nil && !*p.config.Renew {
				return nil, renewals, p.either("renew-request")
			}
			renewals = append(renewals, o)
		}
		if past {
			return nil, renewals, p.either("past-end-request")
		}
	}
	return ends, renewals, none
}

// conclude ends one delivery, as its write will say.
func (p *partition) conclude(r *record, kind int) {
	before := *r
	r.before, r.failed = &before, p.failed(r)
	r.state = map[int]string{gap: archived, accept: acknowledged, release: r.failed, reject: p.given()}[kind]
	r.owner, r.durable = nil, false
}

// failed is the state of a record whose delivery ended without success.
func (p *partition) failed(r *record) string {
	if r.count < p.config.Limit {
		return available
	}
	return p.given()
}

// given is the state of a record that is given up.
func (p *partition) given() string {
	if p.config.Letters {
		return archiving
	}
	return archived
}

func (p *partition) release(op *operation) {
	offsets := p.offsets(func(r *record) bool { return r.state == acquired && r.owner == op.Member })
	for _, o := range offsets {
		p.conclude(p.records[o], release)
	}
	p.report(offsets)
}

// report writes what a request changed; its answer waits for the writes.
func (p *partition) report(offsets []int64) {
	if len(offsets) == 0 {
		return
	}
	c := &call{seq: p.asked.Seq, status: none}
	if p.send(p.grouped(offsets), c); !c.over {
		p.result["status"] = pending
		return
	}
	p.result["status"] = c.status
}

func (p *partition) expire(op *operation) {
	p.now += op.Ms
	due := p.offsets(func(r *record) bool { return r.state == acquired && r.deadline <= p.now })
	for _, o := range due {
		r := p.records[o]
		r.state, r.owner, r.durable = p.failed(r), nil, false
	}
	p.send(p.grouped(due), nil)
}

// sendLetters gives the dead-letter queue what is ARCHIVING, once that is settled.
func (p *partition) sendLetters() {
	for _, o := range p.offsets(func(r *record) bool { return r.state == archiving && r.write == nil && !r.queued }) {
		p.records[o].queued = true
		p.letters = append(p.letters, o)
	}
}

func (p *partition) finishLetter(op *operation) {
	p.told["ranges"] = []span{}
	if len(p.letters) == 0 {
		return
	}
	at := op.Nth % len(p.letters)
	o := p.letters[at]
	p.letters = slices.Delete(p.letters, at, at+1)
	p.told["ranges"] = []span{{o, o}}
	if r := p.records[o]; r != nil && r.queued {
		r.state, r.queued, r.durable = archived, false, false
		p.send([][]int64{{o}}, nil)
	} else if p.choices["writes-passed"] {
		p.send([][]int64{nil}, nil)
	}
}
