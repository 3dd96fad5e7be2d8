/**
 * Where a redirect leads, and what is sent there (RFC 9110 §15.4).
 *
 * @module
 */

import { CliError, EXIT } from '../cli-error.ts'
import { toTarget } from '../request-options.ts'
import type { Plan } from './plan.ts'
import { NO_UPLOAD } from './upload.ts'

/** As many as curl follows. */
const MAX_REDIRECTS = 50

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Fields that describe a body. */
const BODY_FIELDS = /^content-(type|length|encoding|language|location)$/i

/** Fields that belong to an origin. */
const ORIGIN_FIELDS = /^(authorization|cookie|host)$/i

/**
 * Whether a response leads elsewhere.
 *
 * @param location the header section's `location`; undefined for none
 */
export function isRedirect(status: number, location: string | undefined): location is string {
  return STATUSES.has(status) && location !== undefined
}

/**
 * What to do next.
 *
 * @throws CliError for too many redirects, for an address that isn't HTTP, and for a body that can't be sent again
 */
export function toRedirected(plan: Plan, status: number, location: string): Plan {
  const { method, target, upload } = plan
  if (plan.redirects.length >= MAX_REDIRECTS)
    throw new CliError(`more than ${MAX_REDIRECTS} redirects`, EXIT.failure)
  const url = URL.canParse(location, target.url) ? new URL(location, target.url) : null
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new CliError("the redirect doesn't lead to an http: or https: URL", EXIT.failure)
  const next = toTarget(url.href, false)
  // RFC 9110 §15.4.2 and §15.4.3 allow this for POST, and every client does it.
  const isGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST'
  if (!isGet && !upload.isReplayable)
    throw new CliError(
      `the redirect (${status}) needs the --upload body again, but it can't be read twice`,
      EXIT.failure,
    )
  const isSame = next.url.origin === target.url.origin
  const kept = plan.fields.filter(
    ([name]) => !(isGet && BODY_FIELDS.test(name)) && (isSame || !ORIGIN_FIELDS.test(name)),
  )
  const own = next.authorization
  const fields =
    own === null
      ? kept
      : [...kept.filter(([name]) => name.toLowerCase() !== 'authorization'), ['authorization', own] as const]
  return {
    ...plan,
    target: next,
    method: isGet ? 'GET' : method,
    upload: isGet ? { ...NO_UPLOAD, sent: { bytes: 0 } } : upload,
    fields,
    redirects: [...plan.redirects, { url: target.url.href, status }],
  }
}
