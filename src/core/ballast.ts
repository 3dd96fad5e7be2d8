/**
 * Weight on V8's heap for the bytes of bodies, which lie outside of it.
 *
 * @module
 */

/** Shorter pieces come with as much garbage as they need: frames, header objects, calls. Bytes. */
const SHORTEST_PIECE = 4_096
/** An entry of an array takes eight bytes. */
const BYTES_PER_ENTRY = 8

/** V8 allocates what can be seen somewhere. So the last weight is kept, up to the next one. */
const ballast: { weight: readonly unknown[] } = { weight: [] }

/**
 * Makes garbage of the size of a piece, so that scavenges come as often as bodies need them.
 *
 * A scavenge frees young Buffers at a low cost. V8 starts one when the young generation is full, but a Buffer counts
 * there with the 200 bytes of its objects, whatever its size. A client that makes little other garbage reaches 64 MiB
 * of memory outside the heap first. Then V8 starts a full collection, at ten times the cost: that was a third of a
 * download. With a body's size on the heap, the young generation (16 or 32 MiB) is full before that.
 *
 * @param bytes of the piece
 * @see docs/internals/node-streams.md
 */
export function weigh(bytes: number): void {
  if (bytes >= SHORTEST_PIECE) ballast.weight = new Array(Math.ceil(bytes / BYTES_PER_ENTRY))
}
