/**
 * Makes the vectors of test/protocol/vectors anew: `node scripts/vectors.mjs`. Needs Go, python3 with venv, and libnghttp2
 * (Debian: golang-go, python3-venv, libnghttp2-14), and asks PyPI and Go's proxy for the encoders.
 *
 * The lists and the frames are the same each time; what an encoder makes of a list is up to its version.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toFrames } from './vectors/frames.mjs'
import { toStories } from './vectors/lists.mjs'

const sources = join(import.meta.dirname, 'vectors')
const target = join(import.meta.dirname, '../test/protocol/vectors')
const PYTHON_HPACK = 'hpack==4.1.0'

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, input?: string }} [options]
 */
function run(command, args, options = {}) {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1_048_576, ...options })
}

/**
 * @param {string} name of the file
 * @param {readonly unknown[]} vectors one is one line, so that a diff shows what has changed
 */
function write(name, vectors) {
  const lines = vectors.map((vector) => JSON.stringify(vector))
  writeFileSync(join(target, name), `[\n${lines.join(',\n')}\n]\n`)
  console.log(`${name}: ${vectors.length}`)
}

const folder = mkdtempSync(join(tmpdir(), 'dodici-vectors-'))
try {
  for (const kind of ['frames', 'hpack']) mkdirSync(join(target, kind), { recursive: true })
  write('frames/frames.json', toFrames())

  const input = JSON.stringify(toStories())
  write('hpack/go.json', JSON.parse(run('go', ['run', '.'], { cwd: join(sources, 'go'), input })))

  run('python3', ['-m', 'venv', join(folder, 'venv')])
  const python = join(folder, 'venv/bin/python')
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PYTHON_HPACK])
  write('hpack/python.json', JSON.parse(run(python, [join(sources, 'python/encode.py')], { input })))
  write('hpack/nghttp2.json', JSON.parse(run(python, [join(sources, 'python/nghttp2.py')], { input })))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
