/** `serve --record`: a recording of each world of a server, in a file of its own. */

import { extname } from 'node:path'
import type { ServedWorld } from '../server/worlds/served-world.ts'
import { type Recording, recordSimulator } from '../simulator/history/record.ts'
import type { Simulator } from '../simulator/simulator.ts'

/**
 * Records the default world to a file, and each further world to a file beside it: `run.ndjson` and `run.w1.ndjson`.
 *
 * @throws RecordingError if the file exists or cannot be written
 */
export function recordWorlds(sim: Simulator, file: string) {
  const recordings: Recording[] = [recordSimulator(sim, { file })]
  return {
    /** Records a further world. A file that cannot be written is reported on stderr. */
    add({ name, sim }: ServedWorld): void {
      const ending = extname(file)
      try {
        recordings.push(
          recordSimulator(sim, { file: `${file.slice(0, file.length - ending.length)}.${name}${ending}` }),
        )
      } catch (error) {
        process.stderr.write(`${(error as Error).message}\n`)
      }
    },
    /** Ends all recordings. */
    stop(): void {
      for (const recording of recordings) recording.stop()
    },
  }
}
