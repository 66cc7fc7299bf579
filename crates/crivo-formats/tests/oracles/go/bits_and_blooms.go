package main

import (
	"os"

	"github.com/bits-and-blooms/bloom/v3"
)

func build(keys [][]byte, fpr float64, path string) {
	filter := bloom.NewWithEstimates(uint(len(keys)), fpr)
	for _, key := range keys {
		filter.Add(key)
	}
	file, err := os.Create(path)
	check(err)
	_, err = filter.WriteTo(file)
	check(err)
	check(file.Close())
}

func open(path string) func([]byte) bool {
	file, err := os.Open(path)
	check(err)
	var filter bloom.BloomFilter
	_, err = filter.ReadFrom(file)
	check(err)
	return filter.Test
}
