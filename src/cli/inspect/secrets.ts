/**
 * Keeps secrets out of what is shown.
 *
 * @module
 */

import type { Field } from '../request-options.ts'
import { HIDDEN, hideUserInfo } from '../request-options.ts'

const SECRET_NAME =
  /^(?:authorization|proxy-authorization|cookie|set-cookie)$|token|secret|key|passw(?:or)?d|session/i

/** Parameters of a query whose names look like secrets. */
const PARAMETER = /([?&;][^=&#;\s]*(?:token|secret|key|passw(?:or)?d|session)[^=&#;\s]*=)[^&#;\s]*/gi

/** Shows texts and fields without their secrets; with `--show-secrets` as they are. */
export class SecretFilter {
  readonly #showsAll: boolean

  constructor(showsAll: boolean) {
    this.#showsAll = showsAll
  }

  /** The value of a field. @param name in any spelling */
  toShownValue(name: string, value: string): string {
    if (this.#showsAll) return value
    return SECRET_NAME.test(name) ? HIDDEN : this.toShownText(value)
  }

  /** A text that may have URLs in it. */
  toShownText(text: string): string {
    if (this.#showsAll) return text
    return hideUserInfo(text).replace(PARAMETER, `$1${HIDDEN}`)
  }

  toShownFields(fields: readonly Field[]): Field[] {
    return fields.map(([name, value]) => [name, this.toShownValue(name, value)])
  }
}
