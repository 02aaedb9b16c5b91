// Command kfake runs one broker of kfake on 127.0.0.1 until its standard input closes.
//
// Arguments are broker configurations, each as NAME=VALUE. Once the broker listens, a line says its
// address and the version of kfake.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

const module = "github.com/twmb/franz-go/pkg/kfake"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	configs := make(map[string]string)
	for _, argument := range arguments {
		name, value, ok := strings.Cut(argument, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=VALUE", argument)
		}
		configs[name] = value
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(configs))
	if err != nil {
		return err
	}
	defer cluster.Close()
	fmt.Println(cluster.ListenAddrs()[0], version())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}
