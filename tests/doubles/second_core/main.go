// Command secondcore is a share-partition, driven over standard input and output by the protocol of
// docs/verify.md. It was written from the KIPs alone, and can choose otherwise wherever they leave a
// choice.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

const errorsPassedOn = "COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS NOT_COORDINATOR GROUP_ID_NOT_FOUND " +
	"UNKNOWN_TOPIC_OR_PARTITION FENCED_STATE_EPOCH FENCED_LEADER_EPOCH"

func main() {
	profile := flag.String("profile", "kip", "kip or kafka")
	seed := flag.Uint64("seed", 0, "draws the choices; 0 makes none")
	with := flag.String("with", "", "choices to make as well, separated by commas")
	flag.Parse()
	made := draw(*seed, *profile)
	if err := made.add(*with); err != nil {
		log.Fatal(err)
	}
	if err := serve(*profile, made); !errors.Is(err, io.EOF) {
		log.Fatal(err)
	}
}

func serve(profile string, made choices) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	leader := &partition{kafka: profile == "kafka", choices: made}
	for {
		var asked request
		if err := in.Decode(&asked); err != nil {
			return err
		}
		told := map[string]any{}
		switch asked.Do {
		case "hello":
			told = hello(profile, made)
		case "reset":
			*leader = partition{kafka: leader.kafka, choices: made}
		case "apply":
			told = leader.apply(asked)
		}
		if err := out.Encode(told); err != nil {
			return err
		}
	}
}

func hello(profile string, made choices) map[string]any {
	version := "1 " + strings.Join(slices.Sorted(maps.Keys(made)), ",")
	return map[string]any{
		"protocol": 1, "name": "second core", "version": version, "profile": profile,
		"capabilities": map[string]any{
			"acquire_modes": []string{"batch_optimized", "record_limit"}, "write_errors": strings.Fields(errorsPassedOn),
			"renew": true, "validates_requests": true, "pending_writes": true, "advance_log_start": true, "take_over": true,
			"alter_config": true, "dead_letter_queue": true, "aborted_transactions": true,
		},
	}
}
