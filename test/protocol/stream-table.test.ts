import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { StreamTable } from '../../src/protocol/stream-table.ts'
import { Random } from './hpack/support.ts'
import { HeardStream, Rig } from './support/rig.ts'

const REMEMBERED = 128

const rig = new Rig()

const byId = (one: { readonly id: number }, other: { readonly id: number }): number => one.id - other.id

function add(table: StreamTable, count: number): HeardStream[] {
  const streams = Array.from({ length: count }, () => new HeardStream(rig, 'reads'))
  for (const stream of streams) table.add(stream)
  return streams
}

describe('the streams of a connection', () => {
  it('when they are opened › have odd ids from 1 on (RFC 9113 §5.1.1), in that order', () => {
    const table = new StreamTable()
    const streams = add(table, 3)
    expect(streams.map(({ id }) => id)).toEqual([1, 3, 5])
    expect([...table.values()]).toEqual(streams)
    expect(table.get(3)).toBe(streams[1])
    expect(table.get(7)).toBeNull()
    expect(table.size).toBe(3)
  })

  it('that were never opened › are idle, and so are all that only a server could open', () => {
    const table = new StreamTable()
    expect([0, 1].map((id) => table.isIdle(id))).toEqual([true, true])
    add(table, 2)
    expect([1, 3, 5, 2, 4].map((id) => table.isIdle(id))).toEqual([false, false, true, true, true])
  })

  it('that are closed › are removed once, and do not count as idle', () => {
    const table = new StreamTable()
    const [first, second] = add(table, 2) as [HeardStream, HeardStream]
    expect([table.delete(first, true), table.delete(first, true)]).toEqual([true, false])
    expect(table.delete(second, false)).toBe(true)
    expect([table.size, table.isIdle(1), table.get(1)]).toEqual([0, false, null])
    expect([1, 3].map((id) => table.hasEnded(id))).toEqual([true, false])
    expect(table.delete(new HeardStream(rig, 'reads'), false)).toBe(false)
  })

  it('that have ended › are remembered, the last 128 of them', () => {
    const table = new StreamTable()
    const streams = add(table, REMEMBERED + 3)
    for (const stream of streams) table.delete(stream, true)
    expect(streams.filter(({ id }) => table.hasEnded(id))).toEqual(streams.slice(3))
    expect(table.hasEnded(0)).toBe(false)
  })

  it('that have ended › are remembered until one ends that was opened 128 streams later, in any order', () => {
    const table = new StreamTable()
    const streams = add(table, REMEMBERED + 2)
    const [first, second] = streams as [HeardStream, HeardStream]
    for (const stream of streams.slice(1, -1).toReversed()) table.delete(stream, true)
    table.delete(first, true)
    // The stream that was opened 128 later has ended before, and was forgotten instead.
    expect([first, second].map(({ id }) => table.hasEnded(id))).toEqual([true, true])
    expect(table.hasEnded(2 * REMEMBERED + 1)).toBe(false)
    table.delete(streams.at(-1) as HeardStream, true)
    expect([first, second].map(({ id }) => table.hasEnded(id))).toEqual([true, false])
  })

  it('that have ended › are looked for in one place', () => {
    const includes = vi.spyOn(Uint32Array.prototype, 'includes')
    onTestFinished(() => includes.mockRestore())
    const table = new StreamTable()
    for (const stream of add(table, REMEMBERED)) table.delete(stream, true)
    expect(table.hasEnded(2 * REMEMBERED + 1)).toBe(false)
    expect(table.hasEnded(1)).toBe(true)
    expect(includes).not.toHaveBeenCalled()
  })

  it('when many open and close, and some stay open › are found by their ids', () => {
    const random = new Random(9)
    const table = new StreamTable()
    const open = new Map<number, HeardStream>()
    const all: HeardStream[] = []
    let most = 0
    let missed = 0
    for (let step = 0; step < 12_000; step++) {
      const [stream] = add(table, 1) as [HeardStream]
      open.set(stream.id, stream)
      all.push(stream)
      most = Math.max(most, open.size)
      // Waves: many are open at a time, then few, and one in fifty stays for long.
      const target = step % 5_000 < 1_000 ? 900 : 20
      for (const [id, one] of open) {
        if (open.size <= target || (id % 50 === 1 && step - id / 2 < 4_000)) break
        open.delete(id)
        if (!table.delete(one, false)) missed++
      }
      const asked = all[random.below(all.length)] as HeardStream
      if (table.get(asked.id) !== (open.get(asked.id) ?? null) || table.size !== open.size) missed++
    }
    expect(missed).toBe(0)
    expect(most).toBeGreaterThan(800)
    expect([...table.values()].sort(byId)).toEqual([...open.values()])
    // Those above an id are in their order.
    expect(table.above(0)).toEqual([...open.values()])
  })

  it('that outlive all others of their table slot › are found, and closed', () => {
    const table = new StreamTable()
    const [old] = add(table, 1) as [HeardStream]
    for (let count = 0; count < 2_000; count++) table.delete(add(table, 1)[0] as HeardStream, true)
    expect(table.get(1)).toBe(old)
    expect([...table.values()]).toEqual([old])
    expect([table.delete(old, false), table.delete(old, false), table.get(1)]).toEqual([true, false, null])
  })
})
