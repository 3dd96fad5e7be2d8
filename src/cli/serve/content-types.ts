/**
 * A file's media type, by its extension.
 *
 * @module
 */

/** Text is assumed to be UTF-8. */
const TEXTS: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.txt': 'text/plain',
  '.xml': 'text/xml',
}

const OTHERS: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.ico': 'image/x-icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.map': 'application/json',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.wasm': 'application/wasm',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.zip': 'application/zip',
}

/** @param extension with its dot, or empty */
export function toContentType(extension: string): string {
  const name = extension.toLowerCase()
  if (Object.hasOwn(TEXTS, name)) return `${TEXTS[name]}; charset=utf-8`
  return (Object.hasOwn(OTHERS, name) ? OTHERS[name] : undefined) ?? 'application/octet-stream'
}
