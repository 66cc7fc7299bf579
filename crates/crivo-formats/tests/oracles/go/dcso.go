package main

import "github.com/DCSO/bloom"

func build(keys [][]byte, fpr float64, path string) {
	filter := bloom.Initialize(uint64(len(keys)), fpr)
	for _, key := range keys {
		filter.Add(key)
	}
	check(bloom.WriteFilter(&filter, path, false))
}

func open(path string) func([]byte) bool {
	filter, err := bloom.LoadFilter(path, false)
	check(err)
	return filter.Check
}
