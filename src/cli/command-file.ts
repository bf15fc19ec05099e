/** Commands from a file: what goes wrong in a simulation, and when. */
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { type Micros, micros, readable } from '../kernel/duration.ts'
import type { Simulator } from '../simulator.ts'
import { parseJsonText } from '../store/json-text.ts'
import { jsonPath, problemsOf } from '../store/problems.ts'
import { UsageError } from './command.ts'

/** The same as POST /_sim/commands takes, with `at` counted from the start. */
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
 * Gives every command of a file to a world that has just begun.
 *
 * @param within how long it will be simulated: what is due later would never happen
 * @throws UsageError that names file and position, before time has moved
 */
export function giveCommands(sim: Simulator, path: string, within: Micros): void {
  for (const [i, { at, verb, target, args }] of commandsIn(path).entries()) {
    const command = { verb, ...(target !== undefined && { target }), ...(args !== undefined && { args }) }
    try {
      const delay = micros(at)
      if (delay <= within) {
        sim.world.commands.give(command, delay)
        continue
      }
    } catch (error) {
      throw problem(path, `$[${i}]: ${(error as Error).message.replace(/^Failed to obey '.*?': /, '')}`)
    }
    const end = readable(within)
    throw problem(path, `$[${i}].at: '${at}' lies after the end, ${end}. Simulate for longer, or leave it out.`)
  }
}

function commandsIn(path: string): z.output<typeof Commands> {
  const parsed = parseJsonText(textOf(path))
  if ('fault' in parsed) {
    const { line, column, reason } = parsed.fault
    throw problem(path, `line ${line}, column ${column}: ${reason}. Fix the JSON there.`)
  }
  const result = Commands.safeParse(parsed.value)
  if (result.success) return result.data
  const [first] = problemsOf(Commands, parsed.value, result.error)
  throw problem(path, `${jsonPath(first!.path)}: ${first!.text}`)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw problem(path, code === 'ENOENT' ? 'there is no such file. Give one that holds JSON.' : `${message}.`)
  }
}

function problem(path: string, text: string): UsageError {
  return new UsageError(`Failed to read --commands '${path}': ${text}`)
}
