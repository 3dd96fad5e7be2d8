/** The channels of one factory, and the Pool that they share. */

import * as grpc from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { channelFactory } from '../../../src/grpc-js/entry.ts'
import { errors } from '../../../src/index.ts'

const TARGET = '127.0.0.1:1'

describe('channelFactory()', () => {
  it('makes as many channels of one Pool as are wanted, without a warning', async () => {
    const warnings: string[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const make = channelFactory({ grpc })
    const channels = Array.from({ length: 20 }, () => make(TARGET, grpc.credentials.createInsecure(), {}))
    // Node tells of it in a later tick.
    await new Promise(setImmediate)
    for (const channel of channels) channel.close()
    expect(warnings).toEqual([])
  })

  it.each([
    { connect: {} },
    { headersTimeout: 1 },
    { requestTimeout: 1 },
  ])('refuses %j in `pool`, which would have no effect', (pool) => {
    const [name = ''] = Object.keys(pool)
    const make = (): unknown => channelFactory({ grpc, pool: pool as never })
    expect(make).toThrow(errors.InvalidArgumentError)
    expect(make).toThrow(`Invalid pool: the channel sets ${name} itself`)
  })

  it('takes the `connectTimeout` of `pool`', async () => {
    const make = channelFactory({ grpc, pool: { connectTimeout: -1 } })
    // The Pool has refused it: so it was asked.
    expect(() => make(TARGET, grpc.credentials.createInsecure(), {})).toThrow(
      'Invalid connectTimeout: got -1',
    )
  })
})
