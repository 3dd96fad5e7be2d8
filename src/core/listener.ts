/**
 * Listeners of an EventTarget.
 *
 * @module
 */

/**
 * Turns a listener into a function. `addEventListener()` does that itself for an object, but with a function literal
 * that it assigns to a property: V8 allocates those in the old space, where they keep the object until the next full
 * garbage collection (docs/internals/node-streams.md).
 *
 * @returns a function that `removeEventListener()` accepts, too
 */
export function toListener(target: { handleEvent(): void }): () => void {
  return () => target.handleEvent()
}
