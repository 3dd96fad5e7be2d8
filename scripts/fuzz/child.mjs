/** The process that plays rounds of the clients' fuzzer. */
import { runChild } from '../../test/fuzz/child.ts'

await runChild(JSON.parse(process.argv[2] ?? '{}'))
