import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { runCli } from '../../support/clients/cli.ts'
import { runHere } from '../../support/clients/cli-here.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

describe('dodici', () => {
  it.each([
    { args: ['--help'], first: 'HTTP/2 from the command line.' },
    {
      args: ['URL', '--help'],
      first: 'Connects to an endpoint over HTTP/2, sends a request and reports on both.',
    },
    {
      args: ['https://a.example', '-v', '-h'],
      first: 'Connects to an endpoint over HTTP/2, sends a request and reports on both.',
    },
    {
      args: ['ca', '--help'],
      first: "Copies the certificate that clients of 'serve' and 'faults' have to trust.",
    },
    { args: ['serve', '--help'], first: 'Serves files and test routes over HTTP/2, on loopback only.' },
    {
      args: ['load', '--help'],
      first: 'Sends many requests over HTTP/2 and reports how fast the responses arrive.',
    },
    {
      args: ['serve', '-h', 'nowhere'],
      first: 'Serves files and test routes over HTTP/2, on loopback only.',
    },
    {
      args: ['faults', '--help'],
      first: 'Serves HTTP/2 faults by path for testing clients, on loopback only.',
    },
  ])('$args: shows its help on one screen', async ({ args, first }) => {
    const { code, stdout, stderr } = await runHere(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toBe(first)
    // One line is for the prompt behind it.
    expect(lines.length).toBeLessThanOrEqual(23)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  })

  it('--version: shows the version of the package', async () => {
    const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8'))
    expect(await runCli(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
    expect(await runHere(['-V'])).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' })
  })

  it('ends with the exit code of a mistake', async () => {
    const { code, stdout, stderr } = await runCli(['serve', '--prot'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain("unknown option '--prot'")
  })

  it('without a command: shows its help as an error', async () => {
    const { code, stdout, stderr } = await runHere([])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('dodici serve [DIR]')
  })

  it.each([
    {
      args: ['sevre'],
      message:
        "dodici: unknown command 'sevre'. Did you mean 'serve'?\nAvailable: URL, load, serve, faults, ca\n",
    },
    { args: ['sevre', 'https://a'], message: "dodici: unknown command 'sevre'." },
    { args: ['-v'], message: "dodici: unknown option '-v'.\nAvailable: --help, --version\n" },
    {
      args: ['--versoin'],
      message:
        "dodici: unknown option '--versoin'. Did you mean '--version'?\nAvailable: --help, --version\n",
    },
    {
      args: ['serve', '--prot', '1'],
      message:
        "dodici serve: unknown option '--prot'. Did you mean '--port'?\nAvailable: --port, --tls-port, --no-tls, --verbose, --help\n",
    },
    { args: ['serve', '--toString'], message: "unknown option '--toString'" },
    { args: ['serve', '-x'], message: "unknown option '-x'" },
    { args: ['serve', '--port'], message: '--port needs a value: --port PORT' },
    { args: ['serve', '--port', '-1'], message: "--port takes a whole number from 0 to 65535, not '-1'" },
    { args: ['serve', '--port=65536'], message: "--port takes a whole number from 0 to 65535, not '65536'" },
    { args: ['serve', '-p', '0x50'], message: 'takes a whole number' },
    { args: ['serve', '-p', '12443'], message: '--port and --tls-port are both 12443' },
    { args: ['serve', '--no-tls=1'], message: '--no-tls takes no value' },
    { args: ['serve', 'a', 'b'], message: 'takes one DIR, not 2' },
    { args: ['serve', 'no\u001b[31mwhere'], message: "can't serve 'no\\x1b[31mwhere': ENOENT" },
    { args: ['serve', '--', '--port'], message: "can't serve '--port': ENOENT" },
    { args: ['serve', fileURLToPath(import.meta.url)], message: "it isn't a folder" },
    { args: ['faults', 'DIR'], message: "dodici faults: takes only options, not 'DIR'" },
    { args: ['ca', 'a.pem', 'b.pem'], message: 'dodici ca: takes one FILE, not 2' },
    {
      args: ['faults', '--preset', 'nginx-retires'],
      message: "unknown preset 'nginx-retires'.",
    },
    {
      args: ['faults', '--preset', 'node-that-ends-by-reset', '--requests', '2'],
      message:
        '--requests needs a --preset that counts requests: nginx-that-retires, apache-that-restarts, alb-that-drains\n',
    },
    {
      args: ['faults', '--requests', '0'],
      message: "--requests takes a whole number from 1 to 1000000, not '0'",
    },
  ])('$args: is refused with what would be accepted', async ({ args, message }) => {
    const { code, stdout, stderr } = await runHere(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/'dodici( serve| faults| ca)? --help' shows more\.\n$/)
  })
})

describe("import 'dodici'", () => {
  it.each([
    'src/index.ts',
    'src/testing/index.ts',
  ])('loads nothing of the command line: %s', async (entry) => {
    const { metafile } = await build({
      entryPoints: [`${root}${entry}`],
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'node',
      absWorkingDir: root,
      logLevel: 'silent',
    })
    const inputs = Object.keys(metafile.inputs)
    expect(inputs).toContain(entry)
    expect(inputs.filter((path) => path.startsWith('src/cli/'))).toEqual([])
  })
})
