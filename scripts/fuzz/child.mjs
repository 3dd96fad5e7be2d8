/** The process that plays rounds of the clients' fuzzer. */
// First of all: the client that is loaded behind it lives in that time.
import '../../test/fuzz/process-time.ts'

import { runChild } from '../../test/fuzz/child.ts'

await runChild(JSON.parse(process.argv[2] ?? '{}'))
