/**
 * Keeps secrets out of what is shown.
 *
 * @module
 */

import type { Field } from './field-blocks.ts'

/** What stands in the place of a secret. */
export const HIDDEN = '(hidden)'

/** Hides user and password of the URLs in a text, or of one without a scheme that it begins with. */
export function hideUserInfo(text: string): string {
  return text.replace(/(^|\/\/)[^/\s?#]*@/g, `$1${HIDDEN}@`)
}

/** Parts of names that say that the value is a secret. */
const PART = 'token|secret|key|passw(?:or)?d|passphrase|pwd|session|signature|credential|assertion|jwt'

const SECRET_NAME = new RegExp(
  `^(?:authorization|proxy-authorization|cookie|set-cookie|sig)$|^x-auth|${PART}`,
  'i',
)

/** Parameters of a query whose names look like secrets: `X-Amz-Signature`, `sig` of Azure, `code` of OAuth. */
const PARAMETER = new RegExp(
  `([?&;](?:[^=&#;\\s]*(?:${PART})[^=&#;\\s]*|sig|code|auth|x-auth[^=&#;\\s]*)=)[^&#;\\s]*`,
  'gi',
)

/** Shows texts and fields without their secrets; with `--show-secrets` as they are. */
export class SecretFilter {
  readonly #showsAll: boolean
  /** Values of the request, which a server may echo. */
  readonly #values: readonly string[]

  /** @param sent the fields of the request */
  constructor(showsAll: boolean, sent: readonly Field[]) {
    this.#showsAll = showsAll
    this.#values = sent.flatMap(([name, value]) => (SECRET_NAME.test(name) ? toSecrets(value) : []))
  }

  /** The value of a field. @param name in any spelling */
  toShownValue(name: string, value: string): string {
    if (this.#showsAll) return value
    return SECRET_NAME.test(name) ? HIDDEN : this.toShownText(value)
  }

  /** A text that may have URLs in it, or a secret of the request. */
  toShownText(text: string): string {
    if (this.#showsAll) return text
    const shown = hideUserInfo(text).replace(PARAMETER, `$1${HIDDEN}`)
    return this.#values.reduce((rest, value) => rest.replaceAll(value, HIDDEN), shown)
  }

  toShownFields(fields: readonly Field[]): Field[] {
    return fields.map(([name, value]) => [name, this.toShownValue(name, value)])
  }
}

/** Shorter ones would hide what is no secret. Characters. */
const MIN_SECRET = 6

/** `Bearer abcdef` → itself, and `abcdef`: the server may echo a part. */
function toSecrets(value: string): string[] {
  const [, credentials = ''] = value.split(/^\S+\s+/)
  return [value, credentials].filter(({ length }) => length >= MIN_SECRET)
}
