// A driver for franz-go's share consumer; docs/verify-client.md has the commands. franz-go has one
// mode: a poll accepts whatever the application has not acknowledged. In implicit mode a commit
// marks all as accepted before it flushes; in explicit mode a poll is refused here while records
// are unacknowledged, before franz-go would accept them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const module = "github.com/twmb/franz-go"

type values = map[string]any

type command struct {
	Do             string   `json:"do"`
	Bootstrap      string   `json:"bootstrap"`
	Group          string   `json:"group"`
	Mode           string   `json:"mode"`
	AcquireMode    string   `json:"acquire_mode"`
	MaxPollRecords int      `json:"max_poll_records"`
	Recycles       bool     `json:"recycles"`
	Topics         []string `json:"topics"`
	Topic          string   `json:"topic"`
	Partition      int32    `json:"partition"`
	Offset         int64    `json:"offset"`
	Type           int8     `json:"type"`
	TimeoutMs      int      `json:"timeout_ms"`
}

type place struct {
	Topic     string
	Partition int32
}

type key struct {
	place
	offset int64
}

// A client with what the application has in hand. The callback names no offsets: an error of a
// partition is taken for all that was acknowledged of it since the last answer without one.
type driver struct {
	client   *kgo.Client
	settings command
	topics   []string
	polled   map[key]*kgo.Record
	waiting  map[key]bool

	mu      sync.Mutex
	sent    map[place][]int64
	results map[place]error
	failed  []values
}

// A pool of the memory of records, which gives out again what it got last.
type pool struct {
	mu      sync.Mutex
	records [][]kgo.Record
}

func (p *pool) GetRecords(n int) []kgo.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.records) - 1
	if last < 0 || cap(p.records[last]) < n {
		return make([]kgo.Record, 0, n)
	}
	records := p.records[last]
	p.records = p.records[:last]
	return records
}

func (p *pool) PutRecords(records []kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = append(p.records, records)
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return strings.TrimPrefix(dependency.Version, "v")
		}
	}
	return "of an unknown version"
}

func (d *driver) carryOut(c command) (values, error) {
	switch c.Do {
	case "hello":
		return values{
			"protocol":      1,
			"name":          "franz-go " + version(),
			"callbacks":     true,
			"renews":        true,
			"resubscribes":  true,
			"recycles":      true,
			"acquire_modes": []string{"batch_optimized", "record_limit"},
			"without": []string{
				"refuses-a-poll-with-records-unacknowledged", "tells-every-success-once",
			},
		}, nil
	case "open":
		*d = driver{
			settings: c,
			polled:   map[key]*kgo.Record{},
			waiting:  map[key]bool{},
			sent:     map[place][]int64{},
			results:  map[place]error{},
		}
		return values{}, nil
	case "subscribe":
		return values{}, d.subscribe(c.Topics)
	case "poll":
		return d.poll(c.TimeoutMs)
	case "acknowledge":
		return values{}, d.acknowledge(key{place{c.Topic, c.Partition}, c.Offset}, kgo.AckStatus(c.Type))
	case "commit":
		return d.commit(c.TimeoutMs)
	case "commit_async":
		d.acceptAll()
		return values{}, nil
	case "close":
		if d.client != nil {
			d.client.Close()
		}
		return values{}, nil
	case "goodbye":
		return values{}, nil
	}
	return nil, fmt.Errorf("no such command: %s", c.Do)
}

func (d *driver) subscribe(topics []string) error {
	added, gone := without(topics, d.topics), without(d.topics, topics)
	d.topics = topics
	if d.client != nil {
		d.client.AddConsumeTopics(added...)
		d.client.PurgeTopicsFromConsuming(gone...)
		return nil
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(d.settings.Bootstrap, ",")...),
		kgo.ShareGroup(d.settings.Group),
		kgo.ConsumeTopics(topics...),
		kgo.ShareMaxRecords(int32(d.settings.MaxPollRecords)),
		kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) { d.note(results) }),
	}
	if d.settings.AcquireMode == "record_limit" {
		options = append(options, kgo.ShareMaxRecordsStrict())
	}
	if d.settings.Recycles {
		options = append(options, kgo.WithPools(&pool{}))
	}
	client, err := kgo.NewClient(options...)
	d.client = client
	return err
}

func without(topics, others []string) []string {
	return slices.DeleteFunc(slices.Clone(topics), func(t string) bool { return slices.Contains(others, t) })
}

func (d *driver) note(results kgo.ShareAckResults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, result := range results {
		where := place{result.Topic, result.Partition}
		if before, known := d.results[where]; !known || before == nil {
			d.results[where] = result.Err
		}
		if result.Err == nil {
			continue
		}
		offsets := append([]int64{}, d.sent[where]...)
		slices.Sort(offsets)
		d.failed = append(d.failed, values{
			"topic":     where.Topic,
			"partition": where.Partition,
			"offsets":   slices.Compact(offsets),
			"error":     named(result.Err),
		})
	}
}

func (d *driver) poll(timeoutMs int) (values, error) {
	if d.client == nil {
		return nil, errors.New("nothing is subscribed to")
	}
	if len(d.waiting) > 0 {
		if d.settings.Mode == "explicit" {
			return nil, errors.New("records are unacknowledged")
		}
		d.acceptAll()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(timeoutMs)*time.Millisecond)
	defer cancel()
	fetches := d.client.PollRecords(ctx, d.settings.MaxPollRecords)
	records := []values{}
	fetches.EachRecord(func(r *kgo.Record) {
		known := key{place{r.Topic, r.Partition}, r.Offset}
		d.polled[known], d.waiting[known] = r, true
		records = append(records, values{
			"topic":          r.Topic,
			"partition":      r.Partition,
			"offset":         r.Offset,
			"delivery_count": r.DeliveryCount(),
			"value":          string(r.Value),
		})
	})
	var failure error
	again := []string{}
	fetches.EachError(func(topic string, _ int32, err error) {
		if errors.Is(err, kerr.UnknownTopicID) && !slices.Contains(again, topic) {
			again = append(again, topic)
		}
		if !errors.Is(err, context.DeadlineExceeded) && len(records) == 0 {
			failure = err
		}
	})
	// A topic that was created again stays refused until the application does this (README of
	// franz-go, Topic recreation).
	if len(again) > 0 {
		d.client.PurgeTopicsFromConsuming(again...)
		d.client.AddConsumeTopics(again...)
	}
	return values{"records": records}, failure
}

func (d *driver) acknowledge(known key, status kgo.AckStatus) error {
	record, has := d.polled[known]
	if !has || !d.waiting[known] {
		return fmt.Errorf("offset %d is not in hand", known.offset)
	}
	if status != kgo.AckRenew {
		delete(d.waiting, known)
	}
	d.mu.Lock()
	d.sent[known.place] = append(d.sent[known.place], known.offset)
	d.mu.Unlock()
	record.Ack(status)
	if d.settings.Recycles && status != kgo.AckRenew {
		delete(d.polled, known)
		record.Recycle()
	}
	return nil
}

// acceptAll accepts what the last poll returned, where that is implicit.
func (d *driver) acceptAll() {
	if d.settings.Mode == "explicit" {
		return
	}
	for known := range d.waiting {
		d.acknowledge(known, kgo.AckAccept)
	}
}

func (d *driver) commit(timeoutMs int) (values, error) {
	if d.client == nil {
		return values{}, nil
	}
	d.acceptAll()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(timeoutMs)*time.Millisecond)
	defer cancel()
	err := d.client.FlushAcks(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	results := []values{}
	for where, failure := range d.results {
		if err == nil && failure == nil {
			delete(d.sent, where)
		}
		results = append(results, values{
			"topic": where.Topic, "partition": where.Partition, "error": named(failure),
		})
	}
	d.results = map[place]error{}
	return values{"results": results}, err
}

func named(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}

func main() {
	d := &driver{}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var c command
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer, err := d.carryOut(c)
		if answer == nil {
			answer = values{}
		}
		if err != nil {
			answer["error"] = err.Error()
		}
		d.mu.Lock()
		answer["completed"] = append([]values{}, d.failed...)
		d.failed = nil
		d.mu.Unlock()
		if err := out.Encode(answer); err != nil || c.Do == "goodbye" {
			return
		}
	}
}
