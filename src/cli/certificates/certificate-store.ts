/**
 * The certificates for `dodici serve`: created once, and kept in the user's cache folder.
 *
 * @module
 */

import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { CliError, EXIT } from '../cli-error.ts'
import {
  createFile,
  isSystemError,
  prepareFolder,
  readPublic,
  readSecret,
  replaceFile,
} from './cache-folder.ts'
import { generateKey, LEAF_LIFETIME, toAuthorityCertificate, toLeafCertificate } from './certificate.ts'

const DAY = 86_400_000

/** A server's certificate is recreated when it has less time left than this, in milliseconds. */
const LEAF_RESERVE = 30 * DAY

/** An authority outlives everything that it signs. In milliseconds. */
const AUTHORITY_RESERVE = LEAF_LIFETIME

/** What a TLS server and its clients need. */
export interface ServerCertificate {
  /** PEM. */
  readonly key: string
  /** PEM. */
  readonly cert: string
  /** The file with the authority's certificate, for clients. */
  readonly caPath: string
}

/**
 * The certificate for loopback names, from the folder, or recreated if it is missing, damaged, or about to expire.
 *
 * Several processes may do so at once. The authority's private key is the one file that matters, and the first process
 * creates it. Everything else can be recreated from it: one certificate of the authority can replace another, and a
 * server's certificate is in one file with its key.
 *
 * @throws CliError if the folder can't be used
 */
export async function loadServerCertificate(folder: string, now: Date): Promise<ServerCertificate> {
  return await withFolder(folder, ', or use --no-tls', async () => {
    const { caPath, issuerKey } = await loadAuthority(folder, now)
    const leaf = await loadLeaf(join(folder, 'localhost.pem'), issuerKey, now)
    return { ...leaf, caPath }
  })
}

/**
 * The path of the authority's certificate, which is created if it is missing.
 *
 * @throws CliError if the folder can't be used
 */
export async function loadAuthorityPath(folder: string, now: Date): Promise<string> {
  return await withFolder(folder, '', async () => (await loadAuthority(folder, now)).caPath)
}

async function loadAuthority(folder: string, now: Date): Promise<{ caPath: string; issuerKey: KeyObject }> {
  const issuerKey = await loadAuthorityKey(join(folder, 'ca-key.pem'))
  const caPath = join(folder, 'ca.pem')
  await keepAuthority(caPath, issuerKey, now)
  return { caPath, issuerKey }
}

/** @param otherwise what else helps if the folder can't be used */
async function withFolder<T>(folder: string, otherwise: string, use: () => Promise<T>): Promise<T> {
  try {
    await prepareFolder(folder)
    return await use()
  } catch (error) {
    if (!isSystemError(error)) throw error
    const what = `can't keep certificates in ${folder}: ${error.message}`
    throw new CliError(`${what}\nSet XDG_CACHE_HOME to a folder that you own${otherwise}.`, EXIT.failure)
  }
}

/** Never replaced: what it has signed is in use, and so is its certificate. */
async function loadAuthorityKey(path: string): Promise<KeyObject> {
  const kept = await readSecret(path)
  if (kept !== null) return parseKey(path, kept)
  const key = generateKey()
  if (await createFile(path, toKeyPem(key))) return key
  // Another process was faster.
  return parseKey(path, (await readSecret(path)) ?? '')
}

function parseKey(path: string, text: string): KeyObject {
  try {
    const key = createPrivateKey(text)
    if (key.asymmetricKeyType === 'ec') return key
  } catch {
    // OpenSSL's wording would help no reader.
  }
  throw new CliError(
    `${path} holds no usable private key: remove it, and Dodici creates a new one`,
    EXIT.failure,
  )
}

async function keepAuthority(path: string, key: KeyObject, now: Date): Promise<void> {
  const kept = parseCertificate(await readPublic(path))
  if (kept?.checkPrivateKey(key) && isValid(kept, AUTHORITY_RESERVE, now)) return
  await replaceFile(path, toAuthorityCertificate(key, now))
}

async function loadLeaf(
  path: string,
  issuerKey: KeyObject,
  now: Date,
): Promise<{ key: string; cert: string }> {
  const kept = await readSecret(path)
  const certificate = parseCertificate(kept)
  if (kept !== null && certificate !== null && isValid(certificate, LEAF_RESERVE, now)) {
    const isIssued = certificate.verify(createPublicKey(issuerKey))
    if (isIssued && hasKeyOf(certificate, kept)) return { key: kept, cert: kept }
  }
  const key = generateKey()
  const text = `${toKeyPem(key)}${toLeafCertificate(key, issuerKey, now)}`
  await replaceFile(path, text)
  return { key: text, cert: text }
}

/** Whether a text contains a certificate's private key. */
function hasKeyOf(certificate: X509Certificate, text: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(text))
  } catch {
    return false
  }
}

function parseCertificate(text: string | null): X509Certificate | null {
  if (text === null) return null
  try {
    return new X509Certificate(text)
  } catch {
    // Damaged: it is recreated.
    return null
  }
}

/** Whether it is valid now, and remains so for this long. If the clock was put back, it may not be valid yet. */
function isValid(certificate: X509Certificate, reserve: number, now: Date): boolean {
  const from = Date.parse(certificate.validFrom)
  const to = Date.parse(certificate.validTo)
  return from <= now.getTime() && now.getTime() + reserve < to
}

function toKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}
