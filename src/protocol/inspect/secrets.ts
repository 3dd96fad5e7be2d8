/**
 * Keeps secrets out of the output.
 *
 * @module
 */

import type { Field } from './field-blocks.ts'

/** Shown instead of a secret. */
export const HIDDEN = '(hidden)'

/** Hides user and password in a text's URLs, or in a URL without a scheme at its beginning. */
export function hideUserInfo(text: string): string {
  return text.replace(/(^|\/\/)[^/\s?#]*@/g, `$1${HIDDEN}@`)
}

/** Parts of names that indicate that the value is a secret. */
const PART = 'token|secret|key|passw(?:or)?d|passphrase|pwd|session|signature|credential|assertion|jwt'

const SECRET_NAME = new RegExp(
  `^(?:authorization|proxy-authorization|cookie|set-cookie|sig)$|^x-auth|${PART}`,
  'i',
)

/** Query parameters whose names look like secrets: `X-Amz-Signature`, Azure's `sig`, OAuth's `code`. */
const PARAMETER = new RegExp(
  `([?&;](?:[^=&#;\\s]*(?:${PART})[^=&#;\\s]*|sig|code|auth|x-auth[^=&#;\\s]*)=)[^&#;\\s]*`,
  'gi',
)

/** Shows texts and fields without their secrets, or as they are with `--show-secrets`. */
export class SecretFilter {
  readonly #showsAll: boolean
  /** Values in the request, which a server may echo. */
  readonly #values: readonly string[]

  /** @param sent the request's fields */
  constructor(showsAll: boolean, sent: readonly Field[]) {
    this.#showsAll = showsAll
    this.#values = sent.flatMap(([name, value]) => (SECRET_NAME.test(name) ? toSecrets(value) : []))
  }

  /**
   * A field's value.
   *
   * @param name in any spelling
   */
  toShownValue(name: string, value: string): string {
    if (this.#showsAll) return value
    return SECRET_NAME.test(name) ? HIDDEN : this.toShownText(value)
  }

  /** A text that may contain URLs, or one of the request's secrets. */
  toShownText(text: string): string {
    if (this.#showsAll) return text
    const shown = hideUserInfo(text).replace(PARAMETER, `$1${HIDDEN}`)
    return this.#values.reduce((rest, value) => rest.replaceAll(value, HIDDEN), shown)
  }

  toShownFields(fields: readonly Field[]): Field[] {
    return fields.map(([name, value]) => [name, this.toShownValue(name, value)])
  }
}

/** Shorter values, in characters, aren't hidden: that would hide what isn't a secret. */
const MIN_SECRET = 6

/** `Bearer abcdef` → itself, and `abcdef`, because the server may echo a part. */
function toSecrets(value: string): string[] {
  const [, credentials = ''] = value.split(/^\S+\s+/)
  return [value, credentials].filter(({ length }) => length >= MIN_SECRET)
}
