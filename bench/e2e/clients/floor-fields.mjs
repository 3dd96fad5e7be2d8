/**
 * What the two floors do with header sections: the bare one writes octets that it has prepared and looks for a status; the other one is as
 * honest as a client has to be.
 *
 * @typedef {import('./index.mjs').Target} Target
 * @typedef {Record<string, string>} ResponseFields
 *
 * @typedef {object} FloorFields of one connection
 * @property {(size: number) => void} setTableSize applies the peer's SETTINGS_HEADER_TABLE_SIZE
 * @property {(target: Target, block: Buffer, at: number) => number} write writes the header section of a request, and returns its end
 * @property {(bytes: Buffer, start: number, end: number) => number | ResponseFields} read the header section, or the trailer section, of a
 *   response: what is kept of it with the stream; 0: nothing
 * @property {(kept: number | ResponseFields) => number} toStatus of what is kept of a response
 */

/**
 * A literal without indexing, of a name of the static table (RFC 7541 §6.2.2), without Huffman.
 *
 * @param {number} index of the name @param {string} value of less than 127 bytes
 */
function toLiteral(index, value) {
  const name = index < 15 ? [index] : [15, index - 15]
  return Buffer.concat([Buffer.from([...name, value.length]), Buffer.from(value, 'latin1')])
}

/** @implements {FloorFields} */
class BareFields {
  /** Of each request: all but its method, its path and its length. */
  #common

  /** @param {URL} origin */
  constructor({ protocol, host }) {
    const scheme = Buffer.from([protocol === 'https:' ? 0x87 : 0x86])
    this.#common = Buffer.concat([scheme, toLiteral(1, host), toLiteral(19, '*/*'), toLiteral(58, 'bench')])
  }

  /** It uses no table. */
  setTableSize() {}

  /** @param {Target} target `path`: of ASCII, of less than 127 bytes @param {Buffer} block @param {number} begin */
  write({ path, method, body }, block, begin) {
    let at = begin
    block[at++] = method === 'POST' ? 0x83 : 0x82
    // `:path`, as a literal without indexing.
    block[at++] = 0x04
    block[at++] = path.length
    at += block.write(path, at, 'latin1')
    at += this.#common.copy(block, at)
    if (body !== null) {
      const length = `${body.length}`
      // `content-length`, 28th of the static table.
      block[at++] = 0x0f
      block[at++] = 0x0d
      block[at++] = length.length
      at += block.write(length, at, 'latin1')
    }
    return at
  }

  /**
   * nghttp2's servers, and nginx, put `:status: 200` first, as the eighth field of the static table; before it there may be a change of the
   * dynamic table's size. Any other status is none here: the harness takes that for a wrong response.
   *
   * @param {Buffer} bytes @param {number} start
   * @returns {number} 200, or 0
   */
  read(bytes, start) {
    let at = start
    while ((bytes[at] & 0xe0) === 0x20) {
      // A size from 31 up goes on, while the highest bit of a byte is set.
      if (bytes[at++] === 0x3f) while (bytes[at++] >= 0x80);
    }
    return bytes[at] === 0x88 ? 200 : 0
  }

  /** @param {number | ResponseFields} kept */
  toStatus(kept) {
    return Number(kept)
  }
}

/** Its instances are header objects that inherit nothing, in the cheapest way that we know. */
function HeaderObject() {}
HeaderObject.prototype = Object.freeze(Object.create(null))
const NewHeaderObject = /** @type {new () => ResponseFields} */ (/** @type {unknown} */ (HeaderObject))

/** @param {typeof import('../../../src/protocol/hpack/encoder.ts')} encoder @param {typeof import('../../../src/protocol/hpack/decoder.ts')} decoder */
function toHpackFields({ HpackEncoder }, { HpackDecoder }) {
  /**
   * Dodici's own HPACK, so that a client differs from this floor by what is around that.
   *
   * @implements {FloorFields}
   */
  class HpackFields {
    #encoder = new HpackEncoder()
    #decoder = new HpackDecoder(4_096, 65_536)
    #scheme
    #authority

    /** @param {URL} origin */
    constructor({ protocol, host }) {
      this.#scheme = protocol.slice(0, -1)
      this.#authority = host
    }

    /** @param {number} size */
    setTableSize(size) {
      this.#encoder.setMaxTableSize(size)
    }

    /** @param {Target} target @param {Buffer} block @param {number} at */
    write({ path, method, body }, block, at) {
      // A caller's own, as other clients get it.
      /** @type {Record<string, string>} */
      const headers = { accept: '*/*', 'user-agent': 'bench' }
      const fields = [
        ':method',
        method,
        ':scheme',
        this.#scheme,
        ':authority',
        this.#authority,
        ':path',
        path,
      ]
      for (const name in headers) fields.push(name, headers[name])
      if (body !== null) fields.push('content-length', `${body.length}`)
      return this.#encoder.encode(fields, block, at)
    }

    /** @param {Buffer} bytes @param {number} start @param {number} end */
    read(bytes, start, end) {
      const fields = this.#decoder.decode(bytes, start, end)
      if (this.#decoder.fault !== null) throw new Error(this.#decoder.fault)
      // Trailers are decoded, since the table needs it, and dropped.
      if (fields[0] !== ':status') return 0
      const headers = new NewHeaderObject()
      for (let at = 0; at < fields.length; at += 2) {
        const name = fields[at]
        const earlier = headers[name]
        headers[name] = earlier === undefined ? fields[at + 1] : `${earlier}, ${fields[at + 1]}`
      }
      return headers
    }

    /** @param {number | ResponseFields} kept */
    toStatus(kept) {
      return typeof kept === 'number' ? kept : Number(kept[':status'])
    }
  }
  return HpackFields
}

/** @typedef {new (origin: URL) => FloorFields} FieldsClass */

/** How each floor reads and writes fields, by its name. @type {Record<'floor' | 'floor-hpack', () => Promise<FieldsClass>>} */
export const fieldsOf = {
  floor: async () => BareFields,
  'floor-hpack': async () => {
    const { loadModules } = await import('../../../scripts/support.mjs')
    return toHpackFields(
      await loadModules(`export * from '../src/protocol/hpack/encoder.ts'`),
      await loadModules(`export * from '../src/protocol/hpack/decoder.ts'`),
    )
  },
}
