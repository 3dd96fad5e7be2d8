/** A callback that runs in the context of the caller that gave it (AsyncLocalStorage). */
import { AsyncResource } from 'node:async_hooks'

/** @param {number} value */
const callback = (value) => value

export const comparisons = [
  {
    title: "a callback in its caller's context",
    ways: {
      'runInAsyncScope()': () => new AsyncResource('X').runInAsyncScope(callback, null, 1),
      'AsyncResource.bind()': () => AsyncResource.bind(callback)(1),
    },
  },
]
