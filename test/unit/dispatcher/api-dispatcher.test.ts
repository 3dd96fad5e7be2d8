import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Dispatcher } from '../../../src/dispatcher/dispatcher.ts'
import type { AnyDispatchHandler, DispatchOptions } from '../../../types/index.ts'

const API = ['request', 'stream', 'pipeline', 'connect', 'upgrade'] as const

/** Fails each request after it has recorded it. */
class NotingDispatcher extends Dispatcher {
  readonly paths: string[] = []

  override get closed(): boolean {
    return false
  }

  override get destroyed(): boolean {
    return false
  }

  override dispatch(options: DispatchOptions, _handler: AnyDispatchHandler): boolean {
    this.paths.push(options.path)
    throw new Error('noted')
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(): unknown {
    return Promise.resolve()
  }

  override destroy(): Promise<void>
  override destroy(callback: () => void): void
  override destroy(): unknown {
    return Promise.resolve()
  }
}

describe('the API methods of a dispatcher', () => {
  it('are on the prototype, and are not enumerable', () => {
    const dispatcher = new NotingDispatcher()
    expect(dispatcher).toBeInstanceOf(EventEmitter)
    for (const name of API) {
      expect(Object.hasOwn(dispatcher, name)).toBe(false)
      expect(dispatcher[name]).toBe(Dispatcher.prototype[name])
      expect(dispatcher[name]).toHaveProperty('name', name)
    }
    const names: string[] = []
    for (const name in dispatcher) names.push(name)
    expect(names.filter((name) => API.some((each) => each === name))).toEqual([])
  })

  it('call the dispatch() of a subclass, composed or not', async () => {
    const dispatcher = new NotingDispatcher()
    const composed = dispatcher.compose((dispatch) => (options, handler) => {
      return dispatch({ ...options, path: `${options.path}-composed` }, handler)
    })
    for (const each of [dispatcher, composed]) {
      await expect(each.request({ path: '/a', method: 'GET' })).rejects.toThrow('noted')
    }
    expect(dispatcher.paths).toEqual(['/a', '/a-composed'])
  })
})
