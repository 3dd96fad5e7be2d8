/**
 * What an editor shows over a name of the package: a sentence for each, the default of each option, and an example for
 * what is used most.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { toDocsRows } from '../../unit/limit-docs.ts'
import { isResolved, LINES, resolve, toFirst, toLiteral, toOthers } from './default-resolvers.ts'
import type { Hover, MemberHover } from './hover-reader.ts'
import { readHovers } from './hover-reader.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const ENTRIES = Object.keys(
  (JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, unknown> }).exports,
)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace(/^\./, 'dodici'))

const { exports, members } = readHovers(ENTRIES)

/** A hover that is longer hides the code below it. In lines of 100 characters. */
const MAX_LINES = 18
const COLUMNS = 100

/** Interfaces with optional members that no caller sets, and why. */
const NOT_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['DispatchHandler', 'callbacks: one that is missing is not called'],
  ['LegacyDispatchHandler', 'callbacks: one that is missing is not called'],
  ['DispatchController', 'members that the controllers of other packages lack'],
  ['ConnectorOptions', 'what Dodici passes to a connect function'],
  ['CallErrorFields', 'what an error says'],
  ['PeerSettings', 'what a server has sent'],
  ['FormDataLike', 'what a form of another package has'],
  ['FloodRounds', 'frames: what is missing is not sent'],
  ['SettingsObject', 'SETTINGS: what is missing is not sent'],
])

/** Options without a default, and why. */
const WITHOUT_DEFAULT: ReadonlyMap<string, string> = new Map([
  ['DispatchOptions.origin', 'an Agent needs it'],
  ['ConnectOptions.origin', 'an Agent needs it'],
  ['UpgradeOptions.origin', 'an Agent needs it'],
  ['FetchInit.duplex', 'a body that is a stream needs it'],
  ['UpstreamHealthCheck.path', 'needed unless there is `grpc`'],
  ['DispatchOptions.typeOfService', 'no effect'],
  ['DispatchOptions.throwOnError', 'no effect'],
  ['DispatchOptions.maxRedirections', 'no effect'],
  ['Http2Settings.initialWindowSize', 'another name for an option'],
  ['H2Options.connectionWindowSize', 'another name for an option'],
  ['H2Options.maxConcurrentStreams', 'another name for an option'],
  ['H2Options.pingInterval', 'another name for an option'],
  ['ConnectOptionsWithTarget.timeout', 'another name for an option'],
  ['ConnectOptionsWithTarget.socketPath', 'another name for an option'],
  ['ConnectionScript.onConnection', 'a callback'],
  ['ConnectionScript.onRequest', 'a callback'],
  ['ConnectionScript.onData', 'a callback'],
  ['ConnectionScript.onComplete', 'a callback'],
  ['ConnectionScript.onFrame', 'a callback'],
])

/** What a number counts: a unit, or things by their name. */
const UNIT =
  /\b(milliseconds?|bytes?|octets?|percent|how (many|often)|number|port|status|rounds|family|share|from \d)\b/i
const DURATION =
  /(Timeout|Threshold|Interval|Ttl|Age|Period|Start|Time|TimeoutMs|latencyWindow|\.timeout|\.interval|\.ttl)$/
const SIZE = /(Size|Buffer|Bytes|\.bytes|\.limit|highWaterMark)$/

const options = members.filter(({ isOptional, owner }) => isOptional && !NOT_OPTIONS.has(owner))

function toUnit(name: string): RegExp {
  if (DURATION.test(name)) return /\bmilliseconds?\b/
  return SIZE.test(name) ? /\b(bytes|octets)\b/i : UNIT
}

function toDefault({ tags }: Hover): string | undefined {
  return tags.find(({ name }) => name === 'default')?.text
}

function countLines(text: string): number {
  return text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / COLUMNS)), 0)
}

/** What is wrong with the text of a hover. */
function checkText({ text, tags, brokenLinks }: Hover): string[] {
  const problems: string[] = []
  const [sentence = ''] = text.split('\n\n')
  if (sentence.split(/\s+/).length < 3) problems.push(`no sentence: ${JSON.stringify(sentence)}`)
  if (!/^[A-Z`'"[]/.test(text)) problems.push(`it doesn't begin as a sentence: ${text.slice(0, 30)}`)
  if (!/[.:][`')]?$/.test(sentence)) problems.push(`the first sentence has no end: ${sentence.slice(-30)}`)
  const isList = /(^|\n)- [^\n]*(\n {2}[^\n]*)*$/.test(text)
  if (!isList && !/[.][`')]?$/.test(text)) problems.push(`the last sentence has no end: ${text.slice(-30)}`)
  if (countLines(text) > MAX_LINES) problems.push(`${countLines(text)} lines`)
  for (const part of [text, ...tags.filter(({ name }) => name !== 'example').map((tag) => tag.text)])
    if (/@(default|param|returns|throws|internal)\b/.test(part)) problems.push(`a tag inside: ${part}`)
  if (brokenLinks.length > 0) problems.push(`links that lead nowhere: ${brokenLinks.join(', ')}`)
  return problems
}

/** What is wrong with the default of an option. */
function checkDefault({ name, tags, isNumeric, text }: MemberHover): string[] {
  const problems: string[] = []
  const [found, ...more] = tags.filter((tag) => tag.name === 'default')
  if (found === undefined && !WITHOUT_DEFAULT.has(name)) problems.push('no @default')
  if (found !== undefined && WITHOUT_DEFAULT.has(name))
    problems.push('it has a @default, and a reason for none')
  if (found?.text.trim() === '') problems.push('an empty @default')
  // What follows the tag on its line belongs to it.
  if (/[.]\s|[.]$/.test(found?.text ?? '')) problems.push(`sentences in the @default: ${found?.text}`)
  if (more.length > 0) problems.push('more than one @default')
  if (isNumeric && !WITHOUT_DEFAULT.has(name) && !toUnit(name).test(text)) problems.push(`no unit: ${text}`)
  return problems
}

const toCases = (hovers: readonly Hover[]): (readonly [string, Hover])[] =>
  hovers.map((hover) => [`${hover.entry} ${hover.name}`, hover])

describe('the hover of an export', () => {
  it('is there for each, of every entry', () => {
    expect(exports.length).toBeGreaterThan(200)
    expect(new Set(exports.map(({ entry }) => entry))).toEqual(new Set(ENTRIES))
  })

  it.each(toCases(exports))('is a text: %s', (_, hover) => {
    expect(checkText(hover)).toEqual([])
  })

  it.each([
    ...['request', 'stream', 'fetch', 'install', 'Client', 'Pool', 'Agent', 'UpstreamPool', 'ProxyAgent'],
    ...['createFaultServer', 'channelFactory', 'createTransport'],
  ])('has an example: %s', (name) => {
    const hovers = exports.filter((hover) => hover.name === name && hover.entry !== 'dodici/undici')
    expect(hovers).not.toEqual([])
    for (const { tags } of hovers) expect(tags.map((tag) => tag.name)).toContain('example')
  })
})

describe('the hover of a member', () => {
  it.each(toCases(members))('is a text: %s', (_, hover) => {
    expect(checkText(hover)).toEqual([])
  })

  it('is never one of an internal member', () => {
    expect(readFileSync(`${root}dist/index.d.cts`, 'utf8')).not.toContain('@internal')
  })

  it.each(['Client', 'Pool', 'Agent'])('has an example over `new %s()`', (name) => {
    const [hover] = members.filter((one) => one.entry === 'dodici' && one.name === `${name}.constructor`)
    expect(hover?.tags.map((tag) => tag.name)).toContain('example')
  })
})

describe('the hover of an option', () => {
  it('is there for each interface of options', () => {
    expect(new Set(options.map(({ owner }) => owner)).size).toBeGreaterThan(35)
    expect(options.length).toBeGreaterThan(200)
  })

  it.each(
    options.map((option) => [`${option.entry} ${option.name}`, option] as const),
  )('has its default and its unit: %s', (_, option) => {
    expect(checkDefault(option)).toEqual([])
  })

  it('has no exception that is out of date', () => {
    const owners = new Set(members.filter(({ isOptional }) => isOptional).map(({ owner }) => owner))
    expect([...NOT_OPTIONS.keys()].filter((owner) => !owners.has(owner))).toEqual([])
    const names = new Set(options.map(({ name }) => name))
    expect([...WITHOUT_DEFAULT.keys()].filter((name) => !names.has(name))).toEqual([])
  })
})

describe('the default that a hover shows', () => {
  const literal = options.flatMap((option) => {
    const value = toLiteral(option.name, toDefault(option) ?? '')
    return value === undefined ? [] : [{ ...option, value: value.value }]
  })

  it('is a value for most options', () => {
    expect(literal.length).toBeGreaterThan(130)
  })

  it.each(
    literal.filter(isResolved).map((option) => [option.name, option] as const),
  )('is what the option is without a value: %s', (_, option) => {
    expect(resolve(option, option.value)).toEqual(resolve(option, undefined))
    // Another value makes a difference: otherwise this would hold for any default.
    for (const other of toOthers(option))
      expect(resolve(option, other)).not.toEqual(resolve(option, undefined))
  })

  it.each(
    literal.filter(({ name }) => LINES.has(name)).map((option) => [option.name, option] as const),
  )('is in the code: %s', (name, option) => {
    const { file, text } = LINES.get(name) ?? { file: '', text: '' }
    const code = readFileSync(`${root}${file}`, 'utf8')
    expect(code).toContain(text.replace('$', toFirst(toDefault(option) ?? '')))
  })

  it('is null, or found in the code', () => {
    const open = literal.filter(({ value }) => value !== null).filter((option) => !isResolved(option))
    expect(open.map(({ name }) => name).sort()).toEqual([...LINES.keys()].sort())
  })

  const PAGES = readdirSync(`${root}docs`).filter((file) => file.endsWith('.md'))
  const rows = PAGES.flatMap((page) =>
    toDocsRows(readFileSync(`${root}docs/${page}`, 'utf8')).map((row) => ({ ...row, page })),
  )
  const documented = rows.filter(({ name, default: value }) => {
    return /^`[^`]+`$/.test(value) && options.some((option) => option.name.endsWith(`.${name}`))
  })

  it('is in a table for most options', () => {
    expect(documented.length).toBeGreaterThan(60)
  })

  it.each(documented)('is that of the table: $page, $name', ({ name, default: value }) => {
    const shown = options
      .filter((option) => option.name.endsWith(`.${name}`))
      .map((option) => toFirst(toDefault(option) ?? ''))
    expect(shown).toContain(value.replaceAll('`', ''))
  })
})
