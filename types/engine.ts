/**
 * An HTTP/2 implementation: `'node'` is `node:http2`; `'wire'` is Dodici's own, and needs less CPU time.
 */
export type EngineName = 'node' | 'wire'
