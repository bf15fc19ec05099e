/** Completes command lines in bash, zsh and fish, by yargs. */
import { existsSync } from 'node:fs'
import { basename, relative } from 'node:path'
import yargs from 'yargs'
import { FIXTURE_NAMES, PROFILE_NAMES, WEATHER_NAMES, wordsOfFlag } from '../simulator/options.ts'
import { findScenarioFiles } from '../workbench/scenario/runner/files.ts'
import { shippedFolder } from '../workbench/scenario/runner/paths.ts'
import { UsageError } from './command.ts'
import { type Command, defaultsOf } from './flags.ts'
import { CONFIG_OPTIONS } from './read-config.ts'

const SHELLS = ['bash', 'zsh', 'fish']

const FISH_SCRIPT = `# Installation: modelhost-sim --completion fish > ~/.config/fish/completions/modelhost-sim.fish
complete -c modelhost-sim -a '(modelhost-sim --get-yargs-completions (commandline -opc)[2..-1] (commandline -ct))'
`

/** The names that flags take. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  fixtures: FIXTURE_NAMES,
  profile: PROFILE_NAMES,
  weather: WEATHER_NAMES,
}

/**
 * Prints the script that teaches a shell to complete the command.
 *
 * @param shell its name; undefined: the shell of the user
 */
export function printCompletionScript(shell = basename(process.env.SHELL ?? '')): void {
  if (!SHELLS.includes(shell)) {
    throw new UsageError(`Failed to read --completion '${shell}': unknown shell. Shells are ${SHELLS.join(', ')}.`)
  }
  if (shell === 'fish') {
    // That of yargs cannot tell a complete word from the start of one.
    process.stdout.write(FISH_SCRIPT)
    return
  }
  // yargs looks for the shell there.
  process.env.SHELL = shell
  delete process.env.ZSH_NAME
  const parser = yargs().scriptName('modelhost-sim')
  // The types of yargs lack the two arguments of its documentation.
  ;(parser.showCompletionScript as (program: string, command: string) => void)('modelhost-sim', `--completion ${shell}`)
}

/**
 * Prints what can be in place of the last word, a line each.
 *
 * @param words those before the cursor, with or without the program
 */
export async function printCompletions(
  words: readonly string[],
  commands: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<void> {
  const own = basename(words[0] ?? '').startsWith('modelhost-sim') ? words.slice(1) : words
  try {
    const found = await completionsOf(own, commands)
    process.stdout.write(found.map(text => `${text}\n`).join(''))
  } catch {
    // An error would be written into the command line that is being typed.
  }
}

async function completionsOf(
  words: readonly string[],
  commands: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<readonly string[]> {
  const [name = '', first] = words
  const current = words.at(-1) ?? ''
  // What follows -- belongs to another program.
  if (words.slice(0, -1).includes('--')) return []
  if (words.length < 2 && !name.startsWith('-')) return Object.keys(commands)
  const load = Object.hasOwn(commands, name) ? commands[name]! : name.startsWith('-') ? commands.serve! : undefined
  if (load === undefined) return []
  const module = (await load()) as Command
  const flags: Readonly<Record<string, unknown>> = { help: false, version: false, ...defaultsOf(module) }
  const flag = /^--(.+)$/.exec(words.at(-2) ?? '')?.[1]
  const values = flag === undefined ? undefined : (NAMES[flag] ?? wordsOfFlag(flag))
  if (values !== undefined) return values
  if (current.startsWith('-')) {
    return Object.keys({ ...flags, ...(module.takesConfig && CONFIG_OPTIONS) }).map(one => `--${one}`)
  }
  // The shell completes a file.
  if (flag !== undefined && typeof flags[flag] !== 'boolean') return []
  if (name === 'run') {
    const folder = existsSync('scenarios') ? 'scenarios' : shippedFolder('scenarios')
    return findScenarioFiles([folder]).map(file => relative(process.cwd(), file))
  }
  return current === first ? Object.keys(module.actions ?? {}) : []
}
