package main

// span is a range of offsets, both ends included.
type span [2]int64

// row is a state batch: first, last, state, delivery count.
type row [4]int64

type request struct {
	Do        string    `json:"do"`
	Seq       int64     `json:"seq"`
	Operation operation `json:"operation"`
	Answers   []string  `json:"answers"`
}

type config struct {
	Limit     int    `json:"delivery_count_limit"`
	Locks     int64  `json:"partition_max_record_locks"`
	Duration  int64  `json:"record_lock_duration_ms"`
	Reset     string `json:"auto_offset_reset"`
	Isolation string `json:"isolation_level"`
	Renew     *bool  `json:"renew_acknowledge_enable"`
	Letters   bool   `json:"dead_letter_queue"`
}

type operation struct {
	Op        string  `json:"op"`
	Config    config  `json:"config"`
	LogStart  int64   `json:"log_start_offset"`
	LogEnd    int64   `json:"log_end_offset"`
	Time      int64   `json:"time_ms"`
	Status    string  `json:"status"`
	Member    string  `json:"member"`
	Mode      string  `json:"acquire_mode"`
	Max       int     `json:"max_fetch_records"`
	MaxLog    int     `json:"max_batches"`
	Log       []span  `json:"log"`
	Aborted   []span  `json:"aborted"`
	Batches   []batch `json:"batches"`
	Ms        int64   `json:"ms"`
	ID        int64   `json:"id"`
	Nth       int     `json:"nth"`
	Persisted struct {
		Start   int64 `json:"start_offset"`
		Batches []row `json:"state_batches"`
	} `json:"persisted"`
}

// write is one WriteShareGroupState.
type write struct {
	ID      int64  `json:"id"`
	Start   int64  `json:"start_offset"`
	Count   int    `json:"delivery_complete_count"`
	Batches []row  `json:"state_batches"`
	Status  string `json:"status"`

	offsets []int64
	call    *call
}
