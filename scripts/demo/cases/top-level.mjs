/**
 * The functions of a URL, over the global dispatcher; `connect(url)` and `upgrade(url)` are among the tunnels.
 */
import { differs, firstOf, greeting, readResponse, upload } from '../case.mjs'
import { intoSink, throughDuplex } from './streams.mjs'

/** @typedef {import('../case.mjs').Case} Case */
/** @typedef {import('../case.mjs').Context} Context */

/**
 * @param {Context} context
 * @returns {URL}
 */
function toUrl({ origin, path }) {
  return new URL(`${origin}${path}`)
}

/** @type {readonly Case[]} */
export const topLevelCases = [
  {
    api: 'request(url)',
    run: async (context) => {
      const isGlobal = context.dodici.getGlobalDispatcher() === context.agent
      return readResponse(await context.dodici.request(toUrl(context)), (text) =>
        firstOf(differs(greeting, text), !isGlobal && 'not the dispatcher that was set'),
      )
    },
  },
  {
    api: 'request(url), POST, dispatcher: a Client',
    path: '/echo',
    run: async (context) =>
      readResponse(
        await context.dodici.request(toUrl(context).href, {
          dispatcher: context.client,
          method: 'POST',
          body: upload,
        }),
        (text) => differs(upload, text),
      ),
  },
  {
    api: 'stream(url)',
    run: (context) =>
      intoSink((factory) => context.dodici.stream(toUrl(context), { method: 'GET' }, factory), greeting),
  },
  {
    api: 'pipeline(url)',
    path: '/echo',
    run: (context) =>
      throughDuplex(
        (handler) => context.dodici.pipeline(toUrl(context), { method: 'POST' }, handler),
        upload.repeat(2),
      ),
  },
]
