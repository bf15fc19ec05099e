/** Commands that cannot be explored: why, and what to do. */

import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findPackageFolder } from '../../../data/fixtures/files.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { attempt } from '../../../lib/errors.ts'
import { shellQuote } from '../../../lib/quote.ts'
import { hideSecrets } from '../../../lib/text/secrets.ts'
import type { ProcessEnd, StartError } from './client-process.ts'

/** A command that cannot be explored. The message says why, and what to do. */
export class UnusableCommand extends Error {
  override readonly name = 'UnusableCommand'
}

/** Explains why the system cannot start a command. */
export function explainStart(
  { code, message }: Pick<StartError, 'code' | 'message'>,
  command: string,
  path: string | undefined,
): UnusableCommand {
  if (code === 'ENOENT') {
    const isFile = command.includes('/')
    const advice = isFile
      ? 'Give the path of a program.'
      : formatSuggestion(
          command,
          programsOf(path),
          `Give a program of PATH. If it is a file, run it by its program: bash ${command}.`,
        )
    return new UnusableCommand(`Failed to explore: unknown ${isFile ? 'file' : 'command'} '${command}'. ${advice}`)
  }
  if (code === 'EACCES') {
    return new UnusableCommand(
      `Failed to explore: '${command}' is not executable. Change that with chmod +x, or give its interpreter, as in 'explore -- python3 ${command}'.`,
    )
  }
  return new UnusableCommand(`Failed to explore: '${command}' cannot be started: ${message}. Start it alone first.`)
}

/**
 * Rejects a command that the system could not start, without a start.
 *
 * @throws UnusableCommand
 */
export function requireStartable(command: string, path = ''): void {
  const places = command.includes('/') ? [command] : path.split(delimiter).map(folder => join(folder, command))
  const found = places.filter(place => existsSync(place))
  if (found.some(place => attempt(() => accessSync(place, constants.X_OK) === undefined))) return
  throw explainStart({ code: found.length > 0 ? 'EACCES' : 'ENOENT', message: '' }, command, path)
}

/** What a command that sent no request to its world did instead. */
export interface SilentRun {
  readonly argv: readonly string[]
  readonly end: ProcessEnd
  readonly printed: string
  readonly timeoutMs: number
  /** Requests to the server that had another token. */
  readonly strayRequests: number
}

/** Says from where a command gets the address, whatever its variables are named. */
function nameVariables(argv: readonly string[]): string {
  const renamed = `SERVICE_URL=$MODELHOST_URL SERVICE_TOKEN=$MODELHOST_TOKEN exec ${argv.map(shellQuote).join(' ')}`
  return `Make it read the address of the service from MODELHOST_URL, and the token from MODELHOST_TOKEN. If it reads other variables, such as SERVICE_URL and SERVICE_TOKEN, set them, as in: explore -- sh -c ${shellQuote(renamed)}. ${nameRunners()}`
}

/** Says how a script sleeps in simulated time without a change, in words to paste. */
export function nameRunners(): string {
  const [python, shell] = ['clients/python', 'clients/shell'].map(name => findPackageFolder(name) ?? name)
  return `To let a script in Python sleep in simulated time, run: pip install ${shellQuote(python!)}, then: npx modelhost-sim explore -- python3 -m modelhost_sim.run client.py. For a script in a shell, run: PATH="${shell}:$PATH" npx modelhost-sim explore -- bash client.sh. Others replace their sleeps: step 2 of docs/explore-command.md.`
}

/** Explains why a command sent no request to its world. */
export function explainSilence({ argv, end, printed, timeoutMs, strayRequests }: SilentRun): UnusableCommand {
  const command = `'${argv.join(' ')}'`
  const output = printed === '' ? '' : ` It printed:\n${hideSecrets(printed)}`
  if (strayRequests > 0) {
    return new UnusableCommand(
      `Failed to explore: no request of ${command} has the token of its world. Make it send the token of MODELHOST_TOKEN, as in 'Authorization: Bearer TOKEN'.${output}`,
    )
  }
  if (end.kind === 'exited' && end.code === 0) {
    return new UnusableCommand(
      `Failed to explore: ${command} sent no request to the simulator. ${nameVariables(argv)}${output}`,
    )
  }
  const how =
    end.kind === 'exited'
      ? `ended with exit code ${end.code}`
      : end.kind === 'signal'
        ? `ended with ${end.signal}`
        : `did not end within ${timeoutMs / 1000} s`
  return new UnusableCommand(
    `Failed to explore: ${command} ${how} and sent no request to the simulator. Start it alone first. ${nameVariables(argv)}${output}`,
  )
}

function programsOf(path = ''): string[] {
  return (
    path
      .split(delimiter)
      // A folder of PATH need not exist.
      .flatMap(folder => attempt(() => readdirSync(folder)) ?? [])
      .slice(0, 20_000)
  )
}
