/**
 * The time of a process that plays rounds. It has to be loaded before the client is: the client takes the ways to wait
 * as they are when it is loaded.
 */

// Node's own takes the timers as they are when it is loaded, too: its are to be real.
import 'node:http2'
import 'node:tls'
import { VirtualTime } from './virtual-time.ts'

/** There is one for the process. */
export const processTime = new VirtualTime()

processTime.install()
