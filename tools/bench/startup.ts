/** From the start of the process to the first answer of `serve`. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get } from 'node:http'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { atMost, type Bench, type Figure, type Goal, type Group, type Measured } from './figure.ts'
import { commandOf, type Kind } from './installed.ts'
import { times } from './measure.ts'
import { addressOf, scriptOf } from './worker.ts'

const PATIENCE_MS = 30_000
/** The fastest of so many starts counts. */
const STARTS = 5
/** How long a server rests before its memory is read. */
const IDLE_MS = 2_000

export const startup: Group = {
  name: 'startup',
  figures: [
    figure('startup_ms', 'installed', atMost(2, 'ratio')),
    // Each of these starts makes a bundle, so there are fewer. The last bundle is that of the next figure.
    figure('startup_clone_changed_ms', 'cloned', atMost(15, 'ratio'), 3, forgetBundles),
    figure('startup_clone_ms', 'cloned', atMost(2.5, 'ratio')),
    { name: 'idle_server_mb', unit: 'MB resident', goal: atMost(90), run: idleMegabytes },
    {
      name: 'test_file_ms',
      unit: 'ms',
      goal: atMost(0.8, 'ratio'),
      run: bench =>
        times(
          bench,
          'test_file_ms',
          bench.quick ? 1 : STARTS,
          () => printedMs(bench, 'test-file'),
          () => printedMs(bench, 'test-file-msw'),
        ),
    },
  ],
}

/** @param before called before each start */
function figure(name: string, kind: Kind, goal: Goal, starts = STARTS, before = (_: Bench) => {}): Figure {
  return {
    name,
    unit: 'ms',
    goal,
    run: async bench => {
      const command = [commandOf(bench, kind), 'serve', '--port', '0']
      return times(
        bench,
        name,
        bench.quick ? 1 : starts,
        () => {
          before(bench)
          return firstAnswer(bench, command, '/_sim/health')
        },
        () => firstAnswer(bench, [scriptOf(bench, 'empty-hono')], '/'),
      )
    },
  }
}

/** Removes what earlier starts of a clone have made. */
function forgetBundles(bench: Bench): void {
  rmSync(join(dirname(commandOf(bench, 'cloned')), '../.tmp'), { recursive: true, force: true })
}

/** Returns the resident megabytes of a server two seconds after its first answer. */
async function idleMegabytes(bench: Bench): Promise<Measured> {
  const command = [commandOf(bench, 'installed'), 'serve', '--port', '0']
  const resident = async (child: ChildProcess) => {
    await sleep(bench.quick ? 0 : IDLE_MS)
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(child.pid)])
    return Number(stdout) / 1024
  }
  bench.progress('idle_server_mb')
  return { value: await firstAnswer(bench, command, '/_sim/health', resident) }
}

/** Returns the milliseconds that a script prints. */
async function printedMs(bench: Bench, script: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [scriptOf(bench, script)], { cwd: bench.outdir })
  return Number(stdout)
}

/**
 * Returns the milliseconds from the start of a process, which prints its address, to its first 200; or what `measure`
 * returns then.
 */
async function firstAnswer(
  bench: Bench,
  args: readonly string[],
  path: string,
  measure?: (child: ChildProcess) => Promise<number>,
): Promise<number> {
  const began = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: bench.outdir,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    let complained = ''
    child.stderr.on('data', chunk => {
      complained += chunk
    })
    const url = await addressOf(child).catch((error: Error) => {
      throw new Error(`${error.message}: ${complained}`)
    })
    while ((await statusOf(url + path)) !== 200) {
      if (performance.now() - began > PATIENCE_MS) throw new Error(`no answer from ${path}: ${complained}`)
      await sleep(1)
    }
    return measure === undefined ? performance.now() - began : await measure(child)
  } finally {
    // Gone before the next begins; it may be gone already.
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
  }
}

function statusOf(url: string): Promise<number> {
  return new Promise(resolve => {
    // A connection of its own each time: nothing is kept open that a server would wait for.
    const request = get(url, { agent: false }, response => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', () => resolve(0))
  })
}
