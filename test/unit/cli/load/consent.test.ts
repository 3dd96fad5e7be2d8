import { describe, expect, it } from 'vitest'
import { isLoopback, requireConsent, toConsent } from '../../../../src/cli/load/consent.ts'
import { Terminal } from '../../../../src/cli/terminal.ts'

/** Gives some names below `localhost` another address, too. */
const resolve = async (name: string): Promise<readonly string[]> => {
  if (name === 'gone.localhost') throw new Error('ENOTFOUND')
  const ofOthers = name === 'astray.localhost' ? ['10.0.0.1'] : name === 'v6.localhost' ? ['::2'] : []
  return ['127.0.0.1', '::1', ...ofOthers]
}

describe('loopback', () => {
  it.each([
    'http://localhost:12080/',
    'https://a.localhost/',
    'http://gone.localhost/',
    'http://127.0.0.1/',
    'http://127.8.9.10:1/',
    'http://2130706433/',
    'http://[::1]:8080/',
  ])('is %s', async (url) => {
    expect(await isLoopback(new URL(url), resolve)).toBe(true)
  })

  it.each([
    'https://example.com/',
    'http://localhost.example.com/',
    'http://192.168.1.1/',
    'http://0.0.0.0/',
    'http://128.0.0.1/',
    'http://[::2]/',
    'http://[::ffff:10.0.0.1]/',
    'http://astray.localhost/',
    'http://v6.localhost:12080/',
  ])('is not %s', async (url) => {
    expect(await isLoopback(new URL(url), resolve)).toBe(false)
  })
})

describe('the consent to a load', () => {
  it('is not needed for loopback', () => {
    expect(toConsent(true, false, false)).toBe('send')
    expect(toConsent(true, false, true)).toBe('send')
  })

  it('is needed for any other server', () => {
    expect(toConsent(false, false, false)).toBe('refuse')
    expect(toConsent(false, false, true)).toBe('ask')
    expect(toConsent(false, true, false)).toBe('warn')
    expect(toConsent(false, true, true)).toBe('warn')
  })
})

const URL_OF_OTHERS = new URL('https://example.com/')

/** A terminal whose user types this; null: no terminal. */
function toTerminal(typed: string | null) {
  const said = { stdout: '', stderr: '' }
  const isTTY = typed !== null
  const toOutput = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write(text: string) {
      said[name] += text
    },
    on() {},
  })
  async function* type() {
    if (typed !== null) yield Buffer.from(typed)
  }
  const stdin = Object.assign(type(), { isTTY })
  const [stdout, stderr] = [toOutput('stdout'), toOutput('stderr')]
  return { said, terminal: new Terminal({ env: {}, stdin, stdout, stderr, on() {}, off() {} }) }
}

describe('a load to another machine', () => {
  it.each(['y\n', 'Y\r\n', 'yes\n'])('is sent when the user types %j', async (typed) => {
    const { terminal, said } = toTerminal(typed)
    await requireConsent(URL_OF_OTHERS, null, false, terminal)
    expect(said.stderr).toMatch(/^example\.com isn't this machine.*\nSend it\? \(y\/N\) $/)
  })

  it.each(['\n', 'n\n', 'yep\n'])('is not sent when the user types %j', async (typed) => {
    const { terminal } = toTerminal(typed)
    await expect(requireConsent(URL_OF_OTHERS, null, false, terminal)).rejects.toMatchObject({ exitCode: 2 })
  })

  it('is not sent when there is no user to ask', async () => {
    const { terminal, said } = toTerminal(null)
    await expect(requireConsent(URL_OF_OTHERS, null, false, terminal)).rejects.toThrow(
      /Nothing was sent.*--yes/,
    )
    expect(said.stderr).toBe('')
  })

  it('is sent with a warning when the user has agreed before', async () => {
    const { terminal, said } = toTerminal(null)
    await requireConsent(URL_OF_OTHERS, null, true, terminal)
    expect(said.stderr).toMatch(/^dodici load: example\.com isn't this machine.*\n$/)
  })
})
