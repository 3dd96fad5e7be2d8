import { generate } from 'selfsigned'

/**
 * A self-signed certificate for the loopback interface.
 *
 * @param {string} name that it is for, besides 127.0.0.1
 */
export async function makeCertificate(name = 'localhost') {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: name },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  })
  return { key, cert }
}
