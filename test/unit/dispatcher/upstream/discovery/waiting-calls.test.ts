import { expect, it } from 'vitest'
import type { WaitingCall } from '../../../../../src/dispatcher/upstream/discovery/waiting-calls.ts'
import { WaitingCalls } from '../../../../../src/dispatcher/upstream/discovery/waiting-calls.ts'
import { ConnectError } from '../../../../../src/errors/errors.ts'
import { FakeClock } from '../../../../support/clocks/fake-clock.ts'

class Waiting implements WaitingCall {
  error: Error | null = null

  begin(): void {}

  abandon(error: Error): void {
    this.error = error
  }
}

it('calls that wait for upstreams keep the process alive until the last one has ended, however that ended', () => {
  const clock = new FakeClock()
  const calls = new WaitingCalls(clock, ({ name }) => new ConnectError(`late: ${name}`))
  const [aborted, late] = [new Waiting(), new Waiting()]
  calls.add(aborted, { name: 'connectTimeout', value: 0 })
  calls.add(late, { name: 'requestTimeout', value: 100 })
  calls.delete(aborted)
  expect(clock.referenced).toBeGreaterThan(0)
  clock.advance(200)
  expect(late.error?.message).toBe('late: requestTimeout')
  expect(clock.referenced).toBe(0)
})
