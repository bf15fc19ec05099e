/**
 * Writes the digest of each world that a test uses, so that two runs of the suite can be compared (`npm run test:twice`).
 * vitest.config.ts loads this only if `WORLD_DIGESTS` names a folder.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterEach, expect } from 'vitest'
import { World } from '../../src/simulation/world.ts'

/** The digests of the worlds that a test used, in the order of their first use. */
export interface DigestLine {
  readonly file: string
  readonly test: string
  readonly digests: readonly string[]
}

const KEY = Symbol.for('modelhost-sim.usedWorlds')
const worker = globalThis as { [KEY]?: Set<World> }

/** Every way in which a world can change. */
const CHANGES = ['runTo', 'next', 'openRequest', 'closeRequest', 'recordCommand'] as const

function watchWorlds(): Set<World> {
  const used = new Set<World>()
  for (const name of CHANGES) {
    const change = World.prototype[name] as (this: World, ...args: unknown[]) => unknown
    Object.defineProperty(World.prototype, name, {
      value: function (this: World, ...args: unknown[]) {
        used.add(this)
        return change.apply(this, args)
      },
    })
  }
  return used
}

// Files share a worker, and with it the class.
worker[KEY] ??= watchWorlds()
const used = worker[KEY]

afterEach(() => {
  const { testPath = '', currentTestName = '' } = expect.getState()
  const line: DigestLine = {
    file: relative('.', testPath),
    test: currentTestName,
    digests: [...used].map(({ digest }) => digest),
  }
  used.clear()
  if (line.digests.length === 0) return
  const folder = process.env.WORLD_DIGESTS!
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(line)}\n`)
})
