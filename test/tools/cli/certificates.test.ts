import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { toCacheFolder } from '../../../src/cli/certificates/cache-folder.ts'
import { generateKey, toLeafCertificate } from '../../../src/cli/certificates/certificate.ts'
import { loadServerCertificate } from '../../../src/cli/certificates/certificate-store.ts'
import { destroyWithTest } from '../../support/clients/agents.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { lacks, requireProgram } from '../../support/servers/programs.ts'

const lacksOpenssl = lacks('openssl')

const DAY = 86_400_000
const NOW = new Date()
const later = (days: number): Date => new Date(NOW.getTime() + days * DAY)

let folder = ''

beforeEach(async () => {
  folder = await makeFolder()
  return () => removeFolder(folder)
})

/** What is on the disk, as certificates. */
async function read() {
  const [ca, leaf] = await Promise.all(
    ['ca.pem', 'localhost.pem'].map((name) => readFile(join(folder, name), 'utf8')),
  )
  return { ca: new X509Certificate(ca ?? ''), leaf: new X509Certificate(leaf ?? '') }
}

async function verify(...args: string[]): Promise<string> {
  requireProgram('openssl')
  const files = ['-CAfile', join(folder, 'ca.pem'), join(folder, 'localhost.pem')]
  const options = ['-x509_strict', '-purpose', 'sslserver', '-check_ss_sig', ...args]
  const { stdout } = await promisify(execFile)('openssl', ['verify', ...options, ...files], {
    env: PROGRAM_ENV,
  })
  return stdout
}

describe('the certificates', () => {
  it('are for loopback names, by an authority that is good for nothing else', async () => {
    await loadServerCertificate(folder, NOW)
    const { ca, leaf } = await read()
    expect(ca.ca).toBe(true)
    expect(ca.verify(ca.publicKey)).toBe(true)
    expect(leaf.ca).toBe(false)
    expect(leaf.verify(ca.publicKey)).toBe(true)
    expect(leaf.checkIssued(ca)).toBe(true)
    expect(leaf.subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1')
    expect(leaf.checkHost('localhost')).toBe('localhost')
    expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1')
    expect(leaf.checkIP('::1')).toBe('::1')
    expect(leaf.checkHost('example.com')).toBeUndefined()
    // id-kp-serverAuth.
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    expect(Date.parse(leaf.validTo) - Date.parse(leaf.validFrom)).toBeLessThanOrEqual(398 * DAY)
    expect(Date.parse(ca.validTo)).toBeGreaterThan(Date.parse(leaf.validTo))
  })

  it.skipIf(lacksOpenssl)('hold before the strict checks of OpenSSL', async () => {
    await loadServerCertificate(folder, NOW)
    for (const name of [
      ['-verify_hostname', 'localhost'],
      ['-verify_ip', '127.0.0.1'],
      ['-verify_ip', '::1'],
    ]) {
      expect(await verify(...name)).toContain('localhost.pem: OK')
    }
    await expect(verify('-verify_hostname', 'example.com')).rejects.toThrow('hostname mismatch')
    // Years from 2050 on are written in another way.
    const far = new Date('2051-02-03T04:05:06Z')
    await loadServerCertificate(folder, far)
    const { leaf } = await read()
    expect(leaf.validFrom).toBe('Feb  2 04:05:06 2051 GMT')
    expect(await verify('-attime', `${far.getTime() / 1000}`)).toContain('localhost.pem: OK')
  })

  it.skipIf(lacksOpenssl)("don't hold for other names, even when the authority signs them", async () => {
    await loadServerCertificate(folder, NOW)
    const caKey = join(folder, 'ca-key.pem')
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const names = ['-subj', '/CN=example.com', '-addext', 'subjectAltName=DNS:example.com,IP:192.0.2.1']
    const files = ['-CA', join(folder, 'ca.pem'), '-CAkey', caKey, '-out', join(folder, 'localhost.pem')]
    const rest = ['-keyout', join(folder, 'other-key.pem'), '-addext', 'basicConstraints=critical,CA:FALSE']
    await promisify(execFile)('openssl', [...args, ...names, ...files, ...rest], { env: PROGRAM_ENV })
    await expect(verify()).rejects.toThrow('permitted subtree violation')
  })
})

describe('the files', () => {
  it("are the user's alone", async () => {
    const cache = join(folder, 'cache', 'dodici')
    const { caPath } = await loadServerCertificate(cache, NOW)
    expect(caPath).toBe(join(cache, 'ca.pem'))
    expect((await stat(cache)).mode & 0o777).toBe(0o700)
    // Nothing is left of what was written first.
    const names = await readdir(cache)
    expect(names.sort()).toEqual(['ca-key.pem', 'ca.pem', 'localhost.pem'])
    for (const name of names) expect((await stat(join(cache, name))).mode & 0o777).toBe(0o600)
    expect(await readFile(caPath, 'utf8')).not.toContain('PRIVATE KEY')
  })

  it('are used again', async () => {
    const first = await loadServerCertificate(folder, NOW)
    const times = async () => Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))))
    const before = await times()
    expect(await loadServerCertificate(folder, later(100))).toEqual(first)
    expect((await times()).map(({ ino }) => ino)).toEqual(before.map(({ ino }) => ino))
  })

  it.each([
    { what: "the server's certificate has 29 days left", days: 396 - 29, isLeafNew: true, isCaNew: false },
    { what: 'the clock was put back', days: -2, isLeafNew: true, isCaNew: true },
    {
      what: 'the authority would not outlive a new certificate',
      days: 3_300,
      isLeafNew: true,
      isCaNew: true,
    },
  ])('are made again when $what', async ({ days, isLeafNew, isCaNew }) => {
    await loadServerCertificate(folder, NOW)
    const before = await read()
    await loadServerCertificate(folder, later(days))
    const after = await read()
    expect(after.leaf.serialNumber !== before.leaf.serialNumber).toBe(isLeafNew)
    expect(after.ca.serialNumber !== before.ca.serialNumber).toBe(isCaNew)
    // A client that has the old one trusts the new server.
    expect(after.leaf.checkIssued(before.ca) && after.leaf.verify(before.ca.publicKey)).toBe(true)
  })

  it.each([
    { name: 'ca.pem', text: '' },
    { name: 'ca.pem', text: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
    { name: 'localhost.pem', text: 'half of it' },
    { name: 'localhost.pem', text: null },
    { name: 'ca.pem', text: null },
  ])('are made again when $name is lost or damaged: $text', async ({ name, text }) => {
    await loadServerCertificate(folder, NOW)
    if (text === null) await rm(join(folder, name))
    else await writeFile(join(folder, name), text)
    await loadServerCertificate(folder, NOW)
    const { ca, leaf } = await read()
    expect(leaf.checkIssued(ca) && leaf.verify(ca.publicKey)).toBe(true)
  })

  it('are made again when they are of another authority, or of another key', async () => {
    await loadServerCertificate(folder, NOW)
    const other = await makeFolder()
    onTestFinished(() => removeFolder(other))
    await loadServerCertificate(other, NOW)
    for (const name of ['ca.pem', 'localhost.pem']) {
      await writeFile(join(folder, name), await readFile(join(other, name)))
    }
    const { key, cert } = await loadServerCertificate(folder, NOW)
    const { ca, leaf } = await read()
    expect(leaf.verify(ca.publicKey)).toBe(true)
    expect(new X509Certificate(cert).serialNumber).toBe(leaf.serialNumber)
    const wrongKey = generateKey().export({ type: 'pkcs8', format: 'pem' })
    await writeFile(join(folder, 'localhost.pem'), `${wrongKey}${leaf}`)
    expect((await loadServerCertificate(folder, NOW)).key).not.toBe(key)
  })

  it.each([
    {
      what: 'the key of the authority is damaged',
      name: 'ca-key.pem',
      message: 'holds no usable private key',
    },
    {
      what: 'others can read the key of the authority',
      name: 'ca-key.pem',
      mode: 0o640,
      message: 'can be read by other users',
    },
    {
      what: "others can read the server's key",
      name: 'localhost.pem',
      mode: 0o604,
      message: 'can be read by other users',
    },
    {
      what: 'others can change the certificate',
      name: 'ca.pem',
      mode: 0o620,
      message: 'can be changed by other users',
    },
    {
      what: 'others can change the folder',
      name: '.',
      mode: 0o770,
      message: 'can be changed by other users',
    },
  ])('are not used when $what', async ({ name, mode, message }) => {
    await loadServerCertificate(folder, NOW)
    const path = join(folder, name)
    if (mode === undefined) await writeFile(path, 'half of it')
    else await chmod(path, mode)
    await expect(loadServerCertificate(folder, NOW)).rejects.toMatchObject({
      name: 'CliError',
      exitCode: 1,
      message: expect.stringContaining(message),
    })
    await chmod(folder, 0o700)
  })

  it('may be in a folder that a link leads to, and the certificate may be read by all', async () => {
    await mkdir(join(folder, 'real'), { mode: 0o700 })
    await symlink('real', join(folder, 'link'))
    const { caPath } = await loadServerCertificate(join(folder, 'link'), NOW)
    await chmod(caPath, 0o644)
    await loadServerCertificate(join(folder, 'link'), NOW)
  })
})

describe('several at once', () => {
  it('use one authority', async () => {
    const loads = Array.from({ length: 20 }, () => loadServerCertificate(folder, NOW))
    const certificates = await Promise.all(loads)
    const { ca } = await read()
    for (const { key, cert } of certificates) {
      const leaf = new X509Certificate(cert)
      expect(leaf.checkIssued(ca) && leaf.verify(ca.publicKey)).toBe(true)
      expect(key).toBe(cert)
    }
    expect((await readdir(folder)).sort()).toEqual(['ca-key.pem', 'ca.pem', 'localhost.pem'])
  })

  it('use one authority, as processes', async () => {
    const serves = await Promise.all([startServe(folder), startServe(folder)])
    onTestFinished(async () => {
      await Promise.all(serves.map(({ running }) => running.kill()))
    })
    const { request, Agent } = await import('../../../src/index.ts')
    for (const { ca } of serves) {
      const dispatcher = destroyWithTest(new Agent({ connect: { ca } }))
      for (const { secure } of serves) {
        const { statusCode, body } = await request(`${secure}/status/204`, { dispatcher })
        await body.dump()
        expect(statusCode).toBe(204)
      }
    }
  })
})

describe('dodici ca', () => {
  const env = () => ({ XDG_CACHE_HOME: folder })
  const kept = (): string => join(folder, 'dodici/ca.pem')

  it('prints where the certificate is, and creates an authority where there is none', async () => {
    expect(await runHere(['ca'], { env: env() })).toEqual({ code: 0, stdout: `${kept()}\n`, stderr: '' })
    expect(new X509Certificate(await readFile(kept())).ca).toBe(true)
  })

  it('with a file: copies it, over what was there', async () => {
    const copy = join(folder, 'copy.pem')
    await writeFile(copy, 'old')
    expect(await runHere(['ca', copy], { env: env() })).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await readFile(copy, 'utf8')).toBe(await readFile(kept(), 'utf8'))
  })

  it('says which file it can’t write', async () => {
    const { code, stderr } = await runHere(['ca', join(folder, 'nowhere/ca.pem')], { env: env() })
    expect(code).toBe(1)
    expect(stderr).toContain(`dodici ca: can't write ${folder}/nowhere/ca.pem: ENOENT`)
  })
})

describe('toLeafCertificate()', () => {
  it('makes a serial number of its own for each', () => {
    const [key, issuerKey] = [generateKey(), generateKey()]
    const serials = Array.from({ length: 50 }, () => {
      return new X509Certificate(toLeafCertificate(key, issuerKey, NOW)).serialNumber
    })
    expect(new Set(serials).size).toBe(50)
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/)
  })
})

describe('toCacheFolder()', () => {
  it.each([
    { env: { XDG_CACHE_HOME: '/caches' }, platform: 'linux', folder: '/caches/dodici' },
    { env: { XDG_CACHE_HOME: 'relative' }, platform: 'linux', folder: join(homedir(), '.cache/dodici') },
    { env: {}, platform: 'darwin', folder: join(homedir(), 'Library/Caches/dodici') },
    { env: { LOCALAPPDATA: '/local' }, platform: 'win32', folder: '/local/dodici/Cache' },
  ] as const)('$platform, $env: $folder', ({ env, platform, folder }) => {
    expect(toCacheFolder(env, platform)).toBe(folder)
  })
})
