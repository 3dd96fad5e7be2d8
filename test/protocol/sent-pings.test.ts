import { describe, expect, it } from 'vitest'
import { SentPings } from '../../src/protocol/sent-pings.ts'

describe('SentPings', () => {
  it('when ACKs come in any order › calls the listener of each acknowledged PING', () => {
    const pings = new SentPings()
    const heard: string[] = []
    const first = pings.add(() => heard.push('first'))
    const second = pings.add(() => heard.push('second'))
    expect(first).not.toBe(second)
    expect([pings.acknowledge(second), heard]).toEqual([true, ['second']])
    expect([pings.acknowledge(first), heard]).toEqual([true, ['second', 'first']])
  })

  describe('when an ACK matches no waiting PING', () => {
    it('calls no listener', () => {
      const pings = new SentPings()
      const heard: string[] = []
      const id = pings.add(() => heard.push('heard'))
      expect([pings.acknowledge(id + 1), heard]).toEqual([false, []])
      // The second ACK of the same one.
      expect([pings.acknowledge(id), pings.acknowledge(id), heard]).toEqual([true, false, ['heard']])
    })
  })

  describe('when a listener sends another PING', () => {
    it('waits for the ACK of that PING, too', () => {
      const pings = new SentPings()
      const heard: string[] = []
      let next = -1
      const id = pings.add(() => {
        next = pings.add(() => heard.push('next'))
      })
      expect([pings.acknowledge(id), next === id, heard]).toEqual([true, false, []])
      expect([pings.acknowledge(next), heard]).toEqual([true, ['next']])
    })
  })
})
