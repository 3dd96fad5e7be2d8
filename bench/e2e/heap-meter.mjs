import { GCProfiler, getHeapStatistics } from 'node:v8'

/**
 * Counts what is allocated on V8's heap while it runs: what was there before each collection, less what the one before had left. Memory
 * outside of that heap, such as that of Buffers, isn't in it.
 */
export class HeapMeter {
  #profiler = new GCProfiler()
  #before = 0

  start() {
    this.#profiler.start()
    this.#before = getHeapStatistics().used_heap_size
  }

  stop() {
    const after = getHeapStatistics().used_heap_size
    const { statistics } = this.#profiler.stop()
    let last = this.#before
    let bytes = 0
    let gcMicros = 0
    for (const { beforeGC, afterGC, cost } of statistics) {
      bytes += beforeGC.heapStatistics.usedHeapSize - last
      last = afterGC.heapStatistics.usedHeapSize
      gcMicros += cost
    }
    return { bytes: bytes + after - last, gcMicros, collections: statistics.length }
  }
}
