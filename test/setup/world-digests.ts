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

interface UsedWorlds {
  /** The worlds of the current test. */
  readonly current: Set<World>
  /** The run of this file in which a world was first used. */
  readonly files: WeakMap<World, symbol>
  readonly watched: WeakSet<typeof World>
  /** The run of this file for the current test file. */
  file: symbol
}

const KEY = Symbol.for('modelhost-sim.usedWorlds')
const worker = globalThis as { [KEY]?: UsedWorlds }

/** Every way in which a world can change. */
const CHANGES = ['runTo', 'next', 'openRequest', 'closeRequest', 'recordCommand'] as const

function watchWorlds(used: UsedWorlds): void {
  used.watched.add(World)
  for (const name of CHANGES) {
    const change = World.prototype[name] as (this: World, ...args: unknown[]) => unknown
    Object.defineProperty(World.prototype, name, {
      value: function (this: World, ...args: unknown[]) {
        if (!used.files.has(this)) used.files.set(this, used.file)
        // Files share a worker. A clock of an earlier file may still move its world.
        if (used.files.get(this) === used.file) used.current.add(this)
        return change.apply(this, args)
      },
    })
  }
}

worker[KEY] ??= { current: new Set(), files: new WeakMap(), watched: new WeakSet(), file: Symbol() }
const used = worker[KEY]
// A test that loads the modules again makes another class.
if (!used.watched.has(World)) watchWorlds(used)
used.file = Symbol()
used.current.clear()

afterEach(() => {
  const { testPath = '', currentTestName = '' } = expect.getState()
  const line: DigestLine = {
    file: relative('.', testPath),
    test: currentTestName,
    digests: [...used.current].map(({ digest }) => digest),
  }
  used.current.clear()
  if (line.digests.length === 0) return
  const folder = process.env.WORLD_DIGESTS!
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(line)}\n`)
})
