/** Processes of the bench: each answers questions by message, and tells what CPU it has used. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Bench } from './figure.ts'
import { profilingArgs } from './profile.ts'

export interface Worker {
  ask<A>(question: string, about?: unknown): Promise<A>
  /** The address that it prints when it is a server. */
  readonly url: Promise<string>
  end(): void
}

/** Where the compiled script of a process lies. */
export function scriptOf({ outdir }: Bench, name: string): string {
  return join(outdir, 'processes', `${name}.mjs`)
}

/** Starts Node with `args`, on the first or the last core alone where the system can do that. */
export function pinned(bench: Bench, name: string, core: 'first' | 'last', args: readonly string[]): Worker {
  const number = core === 'first' ? 0 : availableParallelism() - 1
  const node = [process.execPath, ...profilingArgs(bench.profiles, name), ...args]
  const [command, ...rest] = hasTaskset() ? ['taskset', '-c', String(number), ...node] : node
  const child = spawn(command!, rest, { cwd: bench.outdir, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const url = addressOf(child)
  // A process that is not a server never prints an address, and its `url` is never awaited.
  url.catch(() => {})
  let failed: Error | undefined
  const waiting = new Map<number, { resolve(answer: never): void; reject(error: Error): void }>()
  let asked = 0
  child.on('message', (message: { to: number; answer?: unknown; error?: string }) => {
    const asker = waiting.get(message.to)
    waiting.delete(message.to)
    if (message.error === undefined) asker?.resolve(message.answer as never)
    else asker?.reject(new Error(message.error))
  })
  const fail = (error: Error) => {
    failed = error
    for (const { reject } of waiting.values()) reject(error)
  }
  child.once('error', fail)
  child.once('exit', code => fail(new Error(`${name} ended with ${code}`)))
  return {
    url,
    ask: (question, about) =>
      new Promise((resolve, reject) => {
        if (failed) return reject(failed)
        waiting.set(++asked, { resolve, reject })
        child.send({ question, about, from: asked })
      }),
    end: () => child.disconnect(),
  }
}

/** Keeps this process, and what it starts, off the first core while `work` runs, where the system can do that. */
export async function besideFirstCore<T>(work: () => Promise<T>): Promise<T> {
  const last = availableParallelism() - 1
  if (last === 0 || !hasTaskset()) return work()
  const pin = (cores: string) => execFileSync('taskset', ['-a', '-p', '-c', cores, String(process.pid)])
  pin(`1-${last}`)
  try {
    return await work()
  } finally {
    pin(`0-${last}`)
  }
}

/** The address that a server prints on stdout once it listens. */
export function addressOf(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', chunk => {
      said += chunk
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said)
      if (found) resolve(found[0])
    })
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the server ended with ${code} and printed no address`)))
  })
}

let taskset: boolean | undefined

function hasTaskset(): boolean {
  if (taskset === undefined) {
    try {
      execFileSync('taskset', ['-c', '0', 'true'], { stdio: 'ignore' })
      taskset = true
    } catch {
      taskset = false
    }
  }
  return taskset
}

/** The other side: answers what it is asked until its parent leaves. `cpu` is known to all. */
export function answering(answers: Readonly<Record<string, (about: never) => unknown>>): void {
  const known: Readonly<Record<string, (about: never) => unknown>> = {
    cpu: () => {
      const { user, system } = process.cpuUsage()
      return { cpuMicros: user + system }
    },
    ...answers,
  }
  process.on('message', async ({ question, about, from }: { question: string; about: unknown; from: number }) => {
    try {
      process.send!({ to: from, answer: await known[question]!(about as never) })
    } catch (error) {
      process.send!({ to: from, error: String(error) })
    }
  })
  process.on('disconnect', () => process.exit())
}
