/**
 * Puts the platform's `fetch`, `Request` and `Response` back before each file, because files share a worker.
 * A stub or a simulator that still watches replaces `fetch`. A command that serves in the worker replaces `Request` and
 * `Response` by those of the HTTP server, and MSW does not know `Response.error()` of these.
 */
const NAMES = ['fetch', 'Request', 'Response'] as const
const PLATFORM = Symbol.for('modelhost-sim.platformGlobals')
const worker = globalThis as { [PLATFORM]?: PropertyDescriptor[] }

worker[PLATFORM] ??= NAMES.map(name => Object.getOwnPropertyDescriptor(globalThis, name)!)
NAMES.forEach((name, at) => {
  Object.defineProperty(globalThis, name, worker[PLATFORM]![at]!)
})
