#!/usr/bin/env node
// Installs the clients and tools of others that the interop tests need and that are missing: each folder has a package.json of its own, since
// they are large, and no other test needs them.
import { fileURLToPath } from 'node:url'
import { installPackages } from './packages.mjs'

for (const name of ['aws', 'grpc-clients', 'user-tools'])
  installPackages(fileURLToPath(new URL(`../test/interop/${name}/`, import.meta.url)))
