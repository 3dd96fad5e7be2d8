/**
 * Weight on V8's heap for the bytes of bodies, which are outside it.
 *
 * @module
 */

/** Shorter pieces, in bytes, come with enough garbage: frames, header objects, calls. */
const SHORTEST_PIECE = 4_096
/** An array entry takes eight bytes. */
const BYTES_PER_ENTRY = 8

/** V8 may omit an allocation that nothing can see, so the last weight is kept until the next one. */
const ballast: { weight: readonly unknown[] } = { weight: [] }

/**
 * Creates as much garbage as the piece is large, so that scavenges run as often as bodies need them.
 *
 * A scavenge frees young Buffers cheaply. V8 starts one when the young generation is full, but there a Buffer counts
 * only as its objects' 200 bytes, whatever its size. A client that creates little other garbage first reaches 64 MiB of
 * memory outside the heap. Then V8 starts a full collection, at ten times the cost: that was a third of a download.
 * With a body's size on the heap, the young generation (16 or 32 MiB) is full before that.
 *
 * @param bytes the piece's size
 * @see docs/internals/node-streams.md
 */
export function weigh(bytes: number): void {
  if (bytes >= SHORTEST_PIECE) ballast.weight = new Array(Math.ceil(bytes / BYTES_PER_ENTRY))
}
