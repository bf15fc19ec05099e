/**
 * Files share a worker. Whatever one of them left in the place of the global fetch, a stub or a simulator that still
 * watches it, is gone for the next.
 */
const PLATFORM = Symbol.for('modelhost-sim.platformFetch')
const worker = globalThis as { [PLATFORM]?: typeof fetch }

worker[PLATFORM] ??= globalThis.fetch
globalThis.fetch = worker[PLATFORM]
