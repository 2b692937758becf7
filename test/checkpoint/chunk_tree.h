// SPDX-License-Identifier: Apache-2.0
// A program that saves a tree of many small files, of which each save writes some, and closes it
// with one that it writes each time, as zarr does.
#pragma once

#include <string>

#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {

inline constexpr int kChunks = 480;
inline constexpr int kShare = 4;  // of them are written by each save but the first

inline std::string Chunk(int i) {
  return "w.zarr/" + std::to_string(i / 10) + "/" + std::to_string(i);
}
inline std::string ChunkBytes(const std::string& path, int step) { return path + Padded(step, 6); }
inline bool Due(int chunk, int step) { return step == 1 || chunk % kShare == step % kShare; }

// What lies there when `step` is saved.
inline Contents Tree(int step) {
  Contents out;
  for (int i = 0; i < kChunks; ++i) {
    int at = step;
    while (!Due(i, at)) --at;
    out[Chunk(i)] = ChunkBytes(Chunk(i), at);
  }
  out["w.zarr/.zattrs"] = ChunkBytes("a", step);
  return out;
}

// Those of the chunks of `step` that lie in [from, to), all in one moment.
inline void WriteChunks(Bench& bench, int step, int from, int to) {
  for (int i = from; i < to; ++i) {
    if (Due(i, step)) bench.files.Write(Chunk(i), ChunkBytes(Chunk(i), step));
  }
}

inline void Save(Bench& bench, int step, Duration late = {}) {
  for (int i = 0; i < kChunks; i += 60) {
    WriteChunks(bench, step, i, i + 60);
    bench.Run(Duration::Ms(20));
  }
  bench.Run(late);
  bench.files.Write("w.zarr/.zattrs", ChunkBytes("a", step));
}

}  // namespace stoker::test
