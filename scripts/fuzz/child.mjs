/** The process that plays rounds of the clients' fuzzer. */
// First of all: the client that is loaded behind it lives in that time.
import '../../test/tools/fuzz/process-time.ts'

import { runChild } from '../../test/tools/fuzz/child.ts'

await runChild(JSON.parse(process.argv[2] ?? '{}'))
