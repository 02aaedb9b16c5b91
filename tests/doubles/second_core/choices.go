package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// choice is one freedom that the KIPs leave and this core can use.
type choice struct {
	name, text string
	only       string // the profile that grants it; empty where every profile does
	refused    string // why the judge objects to it, or to it with others, so that no seed draws it
}

var freedoms = []choice{
	{name: "newest", text: "a fetch takes the newest of what it reads, until older records have waited"},
	{name: "half", text: "a fetch takes half of what it may"},
	{name: "one-batch", text: "a fetch reads one log batch"},
	{name: "nothing", text: "every third fetch gets nothing"},
	{name: "whole-batches", text: "batch_optimized exceeds the maximum by the rest of a log batch"},
	{name: "enters-read", text: "the window ends behind what was read, within its limit, and not behind what was taken"},
	{name: "crosses", text: "one log batch crosses the limit of the window", only: "kafka"},
	{name: "jumps", text: "an empty window moves to the first record read, even if none is taken"},
	{name: "late", text: "the start offset moves at every third operation"},
	{name: "state-batch-each", text: "a state batch for each record"},
	{name: "write-each", refused: "decision 152: the first answer settles the request", text: "a write for each record"},
	{name: "write-two", refused: "as write-each", text: "two writes where one would do"},
	{name: "settles-each", text: "of several writes for one request each settles its own records"},
	{name: "fails-at-once", text: "the first error of several writes is answered before the others are"},
	{name: "start-after", text: "a write has the start offset after the change, and no batch below it"},
	{name: "start-kept", text: "a write has start offset -1 where the durable one is that in memory"},
	{name: "start-mixed", text: "the forms of a write take turns"},
	{name: "start-alone", text: "a start offset that moved is written alone"},
	{name: "first-write", text: "a new leader writes its start offset"},
	{name: "rewrites", text: "a write repeats what is durable already"},
	{name: "no-count", refused: "decision 151", text: "a write has no delivery complete count"},
	{name: "keep-back", text: "a record is kept back until the write of its expiry is answered"},
	{name: "from-log-start", text: "a new leader begins at the log start offset"},
	{name: "stops-early", text: "a new leader begins where the durable start offset is"},
	{name: "refuses-undelivered", text: "an acknowledgement of an offset that was never delivered is refused"},
	{name: "past-end-request", text: "one past the end is INVALID_REQUEST, not INVALID_RECORD_STATE"},
	{name: "overlap-request", text: "batches that overlap are INVALID_REQUEST, not INVALID_RECORD_STATE"},
	{name: "strict-order", text: "batches that share an offset are refused", only: "kafka"},
	{name: "renew-request", text: "RENEW where it is not enabled is INVALID_REQUEST, not INVALID_RECORD_STATE"},
	{name: "no-renewal-if-refused", text: "a request that is refused renews nothing", only: "kafka"},
	{name: "renews-before-the-end", refused: "decision 19", text: "a batch that goes past the end renews what comes before it", only: "kafka"},
	{name: "below-passed", text: "durable batches below the start offset are passed over"},
	{name: "aborted-uncounted", text: "withheld records have delivery count 0 and do not use up the maximum"},
	{name: "gap-inside", text: "a read archives what it skips behind its first log batch too"},
	{name: "late-compaction", text: "only every second read archives what it skips"},
	{name: "writes-after-rollback", text: "a record that is not held again after a failed write is written"},
	{name: "writes-passed", text: "the end of a dead letter below the start offset writes the start offset"},
}

type choices map[string]bool

// draw takes each freedom of the profile with an even chance; seed 0 takes none.
func draw(seed uint64, profile string) choices {
	drawn, random := choices{}, rand.New(rand.NewPCG(seed, 932))
	for _, freedom := range freedoms {
		if taken := random.IntN(2) == 1 && seed != 0; taken && freedom.refused == "" && (freedom.only == "" || freedom.only == profile) {
			drawn[freedom.name] = true
		}
	}
	return drawn
}

func (c choices) add(names string) error {
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
		if !slices.ContainsFunc(freedoms, func(f choice) bool { return f.name == name }) {
			return fmt.Errorf("no choice %q", name)
		}
		c[name] = true
	}
	return nil
}
