/** `run --watch`: plays in a new process after each change of a file, so that no state of the last run is kept. */
import { type ChildProcess, spawn } from 'node:child_process'
import { watch as watchFolder } from 'node:fs'
import { dirname, join } from 'node:path'
import { realDelay } from '../lib/real-time.ts'
import { findScenarioFiles } from '../workbench/scenario/runner/files.ts'
import { LoadError } from '../workbench/scenario/runner/import-script.ts'
import { exitProcess } from './exit.ts'
import { onSignals } from './signals.ts'

/** Waits this long without a change: editors write a file in several steps. */
const QUIET_MS = 120
/** Flags of `run` with a value, which may look like a pattern. */
const FLAGS_WITH_VALUE = ['--seed', '--seeds', '--reporter', '--filter', '--tag', '--workers', '--names']
/** Files that scenarios consist of. */
const WATCHED_FILES = /\.(m?[jt]s|ya?ml|json|trace)$/

/**
 * Plays the scenarios now and again after each change in their folders, until a signal comes.
 *
 * @param args the command line; `--watch` is removed from it
 * @returns the exit code if there is nothing to watch
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
    // Another file may be part of any scenario.
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
      if (child === running && code !== null) process.stdout.write('Waiting for a change. Press Ctrl-C to end.\n')
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
      // Traces written by the run itself would start the next run endlessly.
      if (name !== null && WATCHED_FILES.test(name) && !(name.endsWith('.trace') && flags.includes('--update')))
        onFileChanged(join(folder, name))
    })
  }
  onSignals(exitCode => {
    running?.kill()
    exitProcess(exitCode)
  })
  play()
  return new Promise(() => {})
}

/** Returns the path without its ending: a script and its trace share it. */
function stemOf(path: string): string {
  return path.replace(/\.[^.]*$/, '')
}
