import { defineConfig } from 'vitest/config'

// `npm cit` passes no arguments on to the test script, so CI asks for its machine-readable report by environment.
const report = process.env.TEST_REPORT

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    // A process per file: a leaked socket, a global or a crash of node:http2 stays in the file that caused it.
    pool: 'forks',
    isolate: true,
    fileParallelism: true,
    // More workers than this make the timing of protocol tests a matter of luck on a two-core machine.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // An unhandled rejection or 'error' event is a bug of ours, whichever test was running.
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text', 'html', 'lcov'],
    },
  },
})
