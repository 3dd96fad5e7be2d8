import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toJobs } from '../../../../src/cli/load/load-job.ts'
import { readLoadOptions } from '../../../../src/cli/load/load-options.ts'

async function* noInput(): AsyncIterable<Uint8Array> {}

async function read(...args: string[]) {
  const options = await readLoadOptions(args, noInput)
  if (options === null) throw new Error('the help was asked for')
  return options
}

describe('the options of a load', () => {
  it('have defaults', async () => {
    const { url, ...rest } = await read('http://localhost:12080/a?b=c#d')
    expect(url.href).toBe('http://localhost:12080/a?b=c')
    expect(rest).toEqual({
      isJson: false,
      chart: null,
      hdr: null,
      mayFail: null,
      isAgreed: false,
      spec: {
        origin: 'http://localhost:12080',
        paths: ['/a?b=c'],
        address: null,
        method: 'GET',
        headers: [],
        body: null,
        trust: {},
        sessions: 1,
        streams: 100,
        workers: 1,
        requests: null,
        duration: 10_000,
        rate: null,
        timeout: 10_000,
        warmUp: 0,
      },
    })
  })

  it('are all read', async () => {
    const amounts = '-c 4 -m 7 -n 1000 -t 2 --rate 50 --warm-up 2s --timeout 500ms -D 1m'
    const request = '-X PUT -H A:b -H a:c -d text -k --h2c --json --chart a.svg -y localhost:12080'
    const { spec, ...rest } = await read(...amounts.split(' '), ...request.split(' '))
    expect(rest).toMatchObject({ isJson: true, chart: 'a.svg', isAgreed: true })
    expect(spec).toEqual({
      origin: 'http://localhost:12080',
      paths: ['/'],
      address: null,
      method: 'PUT',
      headers: ['A', 'b', 'a', 'c'],
      body: Buffer.from('text'),
      trust: { rejectUnauthorized: false },
      sessions: 4,
      streams: 7,
      workers: 2,
      requests: 1_000,
      duration: 60_000,
      rate: 50,
      timeout: 500,
      warmUp: 2_000,
    })
  })

  it('with a number of requests, have no duration', async () => {
    expect((await read('-n', '5', 'localhost')).spec).toMatchObject({ requests: 5, duration: null })
  })

  it('take the body from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-load-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'body'), 'of a file')
    const { spec } = await read('-d', `@${join(folder, 'body')}`, 'localhost')
    expect(spec).toMatchObject({ method: 'POST', body: Buffer.from('of a file') })
  })

  it('send the credentials of the URL, unless there is a field', async () => {
    const { url, spec } = await read('https://user:pass@localhost/')
    expect(url.href).toBe('https://localhost/')
    expect(spec.headers).toEqual(['authorization', 'Basic dXNlcjpwYXNz'])
    const { spec: own } = await read('-H', 'Authorization: Bearer a', 'https://user:pass@localhost/')
    expect(own.headers).toEqual(['Authorization', 'Bearer a'])
  })

  it.each([
    { args: [], message: 'a URL is missing' },
    { args: ['localhost', '10'], message: 'all URLs need the same origin and user' },
    { args: ['-c', '0', 'localhost'], message: "--sessions takes a whole number from 1 to 1000, not '0'" },
    {
      args: ['-m', '1e3', 'localhost'],
      message: "--streams takes a whole number from 1 to 10000, not '1e3'",
    },
    {
      args: ['-n', '0', 'localhost'],
      message: "--requests takes a whole number from 1 to 1000000000000, not '0'",
    },
    {
      args: ['--rate', '0.5', 'localhost'],
      message: "--rate takes a whole number from 1 to 1000000, not '0.5'",
    },
    {
      args: ['-t', '65', '-c', '65', 'localhost'],
      message: "--threads takes a whole number from 1 to 64, not '65'",
    },
    {
      args: ['-t', '3', '-c', '2', 'localhost'],
      message: '--workers 3 needs at least as many sessions: --sessions 3 or more, not 2',
    },
    {
      args: ['-c', '1000', '-m', '101', 'localhost'],
      message: '--sessions 1000 and --streams 101 are 101000 requests at a time, more than 100000',
    },
    {
      args: ['-D', 'soon', 'localhost'],
      message: "--duration takes a duration such as 10s, 500ms or 2m, not 'soon'",
    },
    {
      args: ['--warm-up', '0', 'localhost'],
      message: "--warm-up takes a duration such as 10s, 500ms or 2m, not '0'",
    },
    { args: ['--timeout', '-1s', 'localhost'], message: '--timeout' },
    { args: ['ftp://localhost/'], message: "not 'ftp://localhost/'" },
  ])('$args: are refused with what would be accepted', async ({ args, message }) => {
    await expect(read(...args)).rejects.toThrow(message)
    await expect(read(...args)).rejects.toMatchObject({ exitCode: 2 })
  })
})

describe('the jobs of the threads', () => {
  it('together are the load', async () => {
    const { spec } = await read('-c', '5', '-n', '11', '-t', '3', '--rate', '300', 'localhost')
    const jobs = toJobs(spec)
    expect(jobs.map(({ sessions }) => sessions)).toEqual([2, 2, 1])
    expect(jobs.map(({ requests }) => requests)).toEqual([4, 4, 3])
    expect(jobs.map(({ pace }) => pace?.interval)).toEqual([10, 10, 10])
    expect(jobs.map(({ pace }) => Math.round((pace?.first ?? 0) * 1_000))).toEqual([0, 3_333, 6_667])
  })
})
