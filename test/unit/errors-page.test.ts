/** docs/errors.md has each error class, with its code, and no other. */

import { describe, expect, it } from 'vitest'
import * as undiciClasses from '../../src/errors/undici-errors.ts'
import { errors } from '../../src/index.ts'
import { readRepository } from '../docs/testing-page/page.ts'

const page = readRepository('docs/errors.md')
const rows = [...page.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].filter(([, name = '']) => name.endsWith('Error'))

describe('docs/errors.md', () => {
  it('has a row for each class of Dodici, and none for another', () => {
    const own = Object.keys(errors).filter((name) => !(name in undiciClasses) && name !== 'DodiciError')
    expect(rows.map(([, name]) => name).toSorted()).toEqual(own.toSorted())
  })

  it.each(
    rows.map(([, name = '', code = '']) => [name, code] as const),
  )('has the code of %s', (name, code) => {
    const Class: unknown = Reflect.get(errors, name)
    if (typeof Class !== 'function') throw new Error(`${name} is no class`)
    const made: unknown = Reflect.construct(Class, name === 'TunnelRefusedError' ? ['', 403] : [''])
    expect(code).toContain(`\`${Object(made).code}\``)
  })

  it('names each class that is undici’s alone', () => {
    const [, section = ''] = page.split('## Classes that only undici throws')
    const named = [...section.matchAll(/`(\w+)`/g)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'errors')
    expect(named.toSorted()).toEqual(
      Object.keys(errors)
        .filter((name) => name in undiciClasses)
        .toSorted(),
    )
  })
})
