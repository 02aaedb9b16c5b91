package main

import (
	"cmp"
	"maps"
	"slices"
)

const available, acquired, acknowledged, archiving, archived = "AVAILABLE", "ACQUIRED", "ACKNOWLEDGED", "ARCHIVING", "ARCHIVED"
const none, pending = "NONE", "PENDING"

// record is an offset of the window; one that the log may have and that has no record is unknown.
type record struct {
	state    string
	count    int
	owner    any // nil, or the member that holds it
	deadline int64
	write    *write  // outstanding: nobody acquires the record before it is answered
	before   *record // what the record goes back to if its write fails
	failed   string  // its state then, if the lock is over
	gone     bool    // compaction removed it, so that it does not go back
	durable  bool    // the share coordinator has this state and count
	queued   bool    // the dead-letter queue has it
}

// partition is the leader's state.
type partition struct {
	kafka   bool
	choices choices

	config           config
	now              int64
	logStart, logEnd int64
	start, end       int64
	records          map[int64]*record
	missing          map[int64]bool // offsets of the window that are not in the log
	passed           map[int64]int  // how many fetches passed over an offset
	fetches          int

	written     int64 // the durable start offset
	nextID      int64
	outstanding map[int64]*write
	letters     []int64 // the queue has each by itself

	// Of the operation in hand:
	asked     request
	told      map[string]any
	result    map[string]any
	writes    []*write
	completed []map[string]any
}

func (p *partition) apply(asked request) map[string]any {
	p.asked, p.writes, p.completed = asked, []*write{}, []map[string]any{}
	p.result, p.told = map[string]any{"status": none}, map[string]any{}
	op := &p.asked.Operation
	if operations[op.Op](p, op); op.Op != "initialize" {
		p.advance(false)
	}
	p.sendLetters()
	if p.choices["start-alone"] && p.written >= 0 && p.start > p.written && len(p.outstanding) == 0 {
		p.send([][]int64{nil}, nil) // no other write has told of it
	}
	p.told["result"], p.told["writes"], p.told["completed"], p.told["after"] = p.result, p.writes, p.completed, p.after()
	return p.told
}

var operations = map[string]func(*partition, *operation){
	"initialize":         (*partition).initialize,
	"produce":            func(p *partition, op *operation) { p.logEnd = op.LogEnd },
	"acquire":            (*partition).acquire,
	"acknowledge":        (*partition).acknowledge,
	"release":            (*partition).release,
	"advance_time":       (*partition).expire,
	"complete_write":     (*partition).completeWrite,
	"alter_config":       func(p *partition, op *operation) { p.config = op.Config },
	"finish_dead_letter": (*partition).finishLetter,
	"advance_log_start":  func(p *partition, op *operation) { p.logStart = op.LogStart; p.dropBelow(op.LogStart) },
}

// initialize makes a new leader from what is durable.
func (p *partition) initialize(op *operation) {
	*p = partition{
		kafka: p.kafka, choices: p.choices, nextID: p.nextID,
		asked: p.asked, told: p.told, result: p.result, writes: p.writes, completed: p.completed,
		config: op.Config, now: op.Time, logStart: op.LogStart, logEnd: op.LogEnd, written: op.Persisted.Start,
		records: map[int64]*record{}, missing: map[int64]bool{},
		passed: map[int64]int{}, outstanding: map[int64]*write{},
	}
	if !p.recover(op.Persisted.Start, op.Persisted.Batches) {
		p.result["status"] = "UNKNOWN_SERVER_ERROR"
		p.start, p.end, p.written, p.records = 0, 0, 0, map[int64]*record{}
		return
	}
	if p.choices["from-log-start"] {
		p.dropBelow(p.logStart)
	}
	if !p.choices["stops-early"] {
		p.passFinished()
	}
	if p.choices["first-write"] && p.start > p.written {
		p.send([][]int64{nil}, nil)
	}
}

func (p *partition) recover(start int64, batches []row) bool {
	p.start = start
	if p.start < 0 {
		if len(batches) > 0 {
			return false
		}
		p.start = p.logStart
		if p.config.Reset == "latest" {
			p.start = p.logEnd
		}
	}
	p.end = p.start
	slices.SortFunc(batches, func(a, b row) int { return cmp.Compare(a[0], b[0]) })
	last := int64(-1)
	for _, b := range batches {
		if b[0] <= last || b[1] < b[0] || b[3] < 0 || b[2] < 0 || b[2] == 1 || b[2] >= int64(len(states)) {
			return false
		}
		if last = b[1]; b[0] < p.start && !p.choices["below-passed"] {
			return false
		}
		for o := max(b[0], p.start); o <= b[1]; o++ {
			p.records[o] = &record{state: states[b[2]], count: int(b[3]), durable: true}
			p.end = o + 1
		}
	}
	return true
}

// finished says that the start offset may pass an offset.
func (p *partition) finished(offset int64) bool {
	r := p.records[offset]
	return r == nil && p.missing[offset] || r != nil && r.write == nil && r.complete()
}

func (r *record) complete() bool { return r.state == acknowledged || r.state == archived }

// advance moves the start offset up to the first unfinished record, now or later.
func (p *partition) advance(now bool) {
	if p.choices["late"] && !now && p.asked.Seq%3 != 0 {
		return
	}
	p.dropBelow(p.logStart)
	p.passFinished()
}

func (p *partition) passFinished() {
	to := p.start
	for to < p.end && p.finished(to) {
		to++
	}
	p.dropBelow(to)
}

func (p *partition) dropBelow(offset int64) {
	if offset <= p.start {
		return
	}
	for o := p.start; o < min(offset, p.end); o++ {
		delete(p.records, o)
		delete(p.missing, o)
		delete(p.passed, o)
	}
	p.start, p.end = offset, max(p.end, offset)
}

// offsets lists the records that are meant, in order.
func (p *partition) offsets(meant func(*record) bool) []int64 {
	found := slices.Collect(maps.Keys(p.records))
	found = slices.DeleteFunc(found, func(o int64) bool { return !meant(p.records[o]) })
	slices.Sort(found)
	return found
}

func (p *partition) after() map[string]any {
	rows := [][]any{}
	for _, o := range p.offsets(func(*record) bool { return true }) {
		r := p.records[o]
		rows = append(rows, []any{o, o, r.state, r.count, r.owner, r.write != nil})
	}
	count := len(p.offsets((*record).complete))
	return map[string]any{"start_offset": p.start, "end_offset": p.end, "delivery_complete_count": count, "records": rows}
}
