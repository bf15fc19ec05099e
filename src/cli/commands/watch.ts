/** `run --watch`: plays in a fresh process whenever a file changes, so that nothing of the last run is remembered. */
import { type ChildProcess, spawn } from 'node:child_process'
import { watch as watchFolder } from 'node:fs'
import { dirname, join } from 'node:path'
import { realDelay } from '../../lib/real-time.ts'
import { findScenarioFiles, LoadError } from '../../scenario/runner/files.ts'

/** How long files have to be quiet: an editor writes one in several steps. */
const QUIET_MS = 120
/** Flags of `run` that take a value, which may read like a pattern. */
const FLAGS_WITH_VALUE = ['--seed', '--seeds', '--reporter', '--filter', '--tag', '--workers', '--against', '--names']
/** Files that scenarios are made of; what a run itself writes is a draft first. */
const WATCHED_FILES = /\.(m?[jt]s|ya?ml|json|trace)$/

/**
 * Plays the scenarios now and again after each change in their folders, until a signal comes.
 *
 * @param args the command line, from which `--watch` is left out
 * @returns an exit code when there is nothing to watch
 */
export async function watch(patterns: readonly string[], args: readonly string[]): Promise<0 | 2> {
  let files: readonly string[]
  try {
    files = findScenarioFiles(patterns)
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 2
  }
  const isPattern = (arg: string, i: number) => patterns.includes(arg) && !FLAGS_WITH_VALUE.includes(args[i - 1] ?? '')
  const [command = 'run', ...flags] = args.filter((arg, i) => !/^--watch(=true)?$/.test(arg) && !isPattern(arg, i))
  let running: ChildProcess | undefined
  let changed = new Set<string>()
  let changes = 0
  const play = () => {
    running?.kill()
    // What is no scenario itself may be part of any of them.
    const changedScenarios = [...changed].map(path => files.find(file => stemOf(file) === stemOf(path)))
    const patternsToPlay =
      changedScenarios.length === 0 || changedScenarios.includes(undefined)
        ? patterns
        : new Set(changedScenarios as string[])
    changed = new Set()
    const line = [...process.execArgv, process.argv[1]!, command, ...patternsToPlay, ...flags]
    const child = spawn(process.execPath, line, { stdio: 'inherit' })
    running = child
    child.on('exit', code => {
      if (child === running && code !== null) process.stdout.write('Waiting for a change; Ctrl-C ends.\n')
    })
  }
  const onFileChanged = async (path: string) => {
    changed.add(path)
    const changeNumber = ++changes
    await realDelay(QUIET_MS)
    if (changeNumber === changes) play()
  }
  for (const folder of new Set(files.map(dirname))) {
    watchFolder(folder, (_, name) => {
      // The traces that the run writes would start the next one for ever.
      if (name !== null && WATCHED_FILES.test(name) && !(name.endsWith('.trace') && flags.includes('--update')))
        onFileChanged(join(folder, name))
    })
  }
  play()
  return new Promise(() => {})
}

/** A script and its trace have this in common. */
function stemOf(path: string): string {
  return path.replace(/\.[^.]*$/, '')
}
