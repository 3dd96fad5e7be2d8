/**
 * Listeners of an EventTarget.
 *
 * @module
 */

/**
 * Makes a function of a listener. Of an object `addEventListener()` makes one itself, as a function literal that it
 * assigns to a property: V8 allocates those in the old space, where they keep the object until the next full garbage
 * collection (docs/internals/node-streams.md).
 *
 * @returns what `removeEventListener()` takes as well
 */
export function toListener(target: { handleEvent(): void }): () => void {
  return () => target.handleEvent()
}
