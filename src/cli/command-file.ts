/** Schedules the commands of a file in a simulation. */

import * as z from 'zod'
import { formatDuration, type Micros, micros } from '../kernel/duration.ts'
import { given } from '../lib/fields.ts'
import { jsonPath, problemsOf } from '../lib/zod-problems.ts'
import type { Simulator } from '../simulator/simulator.ts'
import { UsageError } from './command.ts'
import { readDataFile } from './files/data-file.ts'

/** As in POST /_sim/commands, with `at` counted from the start. */
const Commands = z.array(
  z.strictObject({
    verb: z.string(),
    target: z.string().optional(),
    args: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]))
      .optional(),
    at: z.string().default('0s'),
  }),
)

/**
 * Schedules every command of a file in a new world.
 *
 * @param duration length of the simulation; later commands are refused
 * @throws UsageError with file and position, before time has moved
 */
export function scheduleCommands(sim: Simulator, path: string, duration: Micros): void {
  for (const [i, { at, verb, target, args }] of readCommands(path).entries()) {
    const command = { verb, ...given({ target, args }) }
    try {
      const delay = micros(at)
      if (delay <= duration) {
        sim.world.commands.schedule(command, delay)
        continue
      }
    } catch (error) {
      throw readError(path, `$[${i}]: ${(error as Error).message.replace(/^Failed to execute '.*?': /, '')}`)
    }
    const end = formatDuration(duration)
    throw readError(path, `$[${i}].at: '${at}' is after the end, ${end}. Simulate for longer, or leave it out.`)
  }
}

function readCommands(path: string): z.output<typeof Commands> {
  const value = readDataFile(path, `--commands '${path}'`)
  const result = Commands.safeParse(value)
  if (result.success) return result.data
  const [first] = problemsOf(Commands, value, result.error)
  throw readError(path, `${jsonPath(first!.path)}: ${first!.text}`)
}

function readError(path: string, text: string): UsageError {
  return new UsageError(`Failed to read --commands '${path}': ${text}`)
}
