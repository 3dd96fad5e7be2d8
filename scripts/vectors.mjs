/**
 * Encodes the header lists of test/protocol/vectors/hpack anew: `node scripts/vectors.mjs`. Needs Go, python3 with venv, and libnghttp2
 * (Debian: golang-go, python3-venv, libnghttp2-14), and asks PyPI and Go's proxy for the encoders.
 *
 * The lists are those of the files, the same in each; what an encoder makes of a list is up to its version.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from './processes.mjs'

const sources = join(import.meta.dirname, 'vectors')
const target = join(import.meta.dirname, '../test/protocol/vectors/hpack')
const PYTHON_HPACK = 'hpack==4.1.0'

/** @typedef {{ story: string, sensitive?: string[], cases: { header_table_size?: number, wire?: string, headers: string[][] }[] }} Story */

/** @param {string} command @param {string[]} args @param {{ cwd?: string, input?: string }} [options] */
const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1_048_576, ...options })

/** @param {string} name of the file @param {readonly Story[]} stories one is one line, so that a diff shows what has changed */
function write(name, stories) {
  writeFileSync(join(target, name), `[\n${stories.map((story) => JSON.stringify(story)).join(',\n')}\n]\n`)
  console.log(`${name}: ${stories.length}`)
}

/** @type {Story[]} */
const stories = JSON.parse(readFileSync(join(target, 'go.json'), 'utf8'))
for (const { cases } of stories) for (const one of cases) delete one.wire
const input = JSON.stringify(stories)
const { folder } = makeFolder('vectors')
write('go.json', JSON.parse(run('go', ['run', '.'], { cwd: join(sources, 'go'), input })))
run('python3', ['-m', 'venv', join(folder, 'venv')])
const python = join(folder, 'venv/bin/python')
run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PYTHON_HPACK])
write('python.json', JSON.parse(run(python, [join(sources, 'python/encode.py')], { input })))
write('nghttp2.json', JSON.parse(run(python, [join(sources, 'python/nghttp2.py')], { input })))
