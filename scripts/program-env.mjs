/** The environment in which the tests, the scripts and the benchmarks look for a program of the system and start it. */

/** Debian has its servers in these folders, which are not in every user's PATH. */
const SERVER_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** This process's own environment, with those folders at the end of PATH. */
export const PROGRAM_ENV = {
  ...process.env,
  PATH: [process.env.PATH ?? '', ...SERVER_FOLDERS].join(':'),
}
