import { describe, expect, it } from 'vitest'
import { deleteField, getField, setField } from '../../../src/request/wire-headers.ts'

describe('a list of fields', () => {
  const list = (): string[] => ['a', 'b', 'b', 'c', 'b', 'd']

  it('gives the value of the first field of a name, and no value for a name', () => {
    expect(['a', 'b', 'c'].map((name) => getField(list(), name))).toEqual(['b', 'c', undefined])
  })

  it('has all fields of a name replaced where the first one stands, or one added at the end', () => {
    const wire = list()
    setField(wire, 'b', 'x')
    setField(wire, 'c', 'y')
    expect(wire).toEqual(['a', 'b', 'b', 'x', 'c', 'y'])
  })

  it('loses all fields of a name, and nothing for a name that is only a value', () => {
    const wire = list()
    deleteField(wire, 'b')
    deleteField(wire, 'c')
    expect(wire).toEqual(['a', 'b'])
  })
})
