/** The program as a user starts it who installed the package. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { installed, packageIn } from '../installed-package.ts'

/** A project that has the package. */
export const PROJECT = installed()
export const BIN = join(packageIn(PROJECT), 'bin/modelhost-sim.js')
/** The same for who cloned the project: it runs the source. */
const CLONED_BIN = 'bin/modelhost-sim.js'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the program to its end. */
export function run(
  args: readonly string[],
  env: Record<string, string> = {},
  nodeArgs: readonly string[] = [],
): Promise<Ended> {
  return ended(launch(args, env, BIN, nodeArgs))
}

/** Starts the program. */
export function start(
  args: readonly string[],
  env: Record<string, string> = {},
): { child: ChildProcess; end: Promise<Ended> } {
  const child = launch(args, env)
  return { child, end: ended(child) }
}

/** Whether a process runs. The entry of a process that has ended can stay for a while. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.trim() !== '' && !stdout.startsWith('Z')
}

/** Runs the program from the source, for scripts of this project: they import the source as well. */
export function runCloned(args: readonly string[]): Promise<Ended> {
  return ended(launch(args, {}, CLONED_BIN))
}

/** Starts the program and resolves with its banner, when it has printed all of it. */
export function started(
  args: readonly string[],
  env: Record<string, string> = {},
  stream: 'stdout' | 'stderr' = 'stdout',
  nodeArgs: readonly string[] = [],
): Promise<{ banner: string; url: string; child: ChildProcess; end: Promise<Ended> }> {
  const child = launch(args, env, BIN, nodeArgs)
  const end = ended(child)
  let banner = ''
  return new Promise((resolve, reject) => {
    child[stream]?.on('data', data => {
      banner += data
      const url = /http:\/\/\S+/.exec(banner)?.[0]
      if (url !== undefined && banner.includes('/_sim/clock/advance')) resolve({ banner, url, child, end })
    })
    end.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)))
  })
}

/** A shell's command line, as a user pastes it. */
export function shell(line: string): Promise<Ended> {
  return ended(spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'pipe'] }))
}

function launch(
  args: readonly string[],
  env: Record<string, string>,
  bin = BIN,
  nodeArgs: readonly string[] = [],
): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MODELHOST_SIM_'))
  const child = spawn(process.execPath, [...nodeArgs, bin, ...args], {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

function ended(child: ChildProcess): Promise<Ended> {
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', data => {
    stdout += data
  })
  child.stderr?.setEncoding('utf8').on('data', data => {
    stderr += data
  })
  return new Promise(resolve => {
    child.on('close', code => resolve({ code, stdout, stderr }))
  })
}
