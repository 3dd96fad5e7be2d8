/** A program that a bundler has made one file of. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { makeProject, run } from './rig.ts'

const PROGRAM = `
import { Agent, MockAgent, request, setGlobalDispatcher } from 'dodici/undici'
const mock = new MockAgent({ agent: new Agent() })
setGlobalDispatcher(mock)
mock.get('https://mocked.test').intercept({ path: '/' }).reply(200, 'a mock')
request('https://mocked.test/').then(({ body }) => body.text()).then((text) => console.log(text))`

test.each(['esm', 'cjs'] as const)('runs, with undici external, as %s', async (format) => {
  const folder = makeProject('undici 7')
  const entry = join(folder, 'entry.mjs')
  writeFileSync(entry, PROGRAM)
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    external: ['undici'],
    write: false,
    format,
    logLevel: 'error',
  })
  const text = outputFiles.map((file) => file.text).join('')
  expect((await run(folder, format === 'cjs' ? `require('node:fs')\n${text}` : text)).stdout).toBe('a mock\n')
})
