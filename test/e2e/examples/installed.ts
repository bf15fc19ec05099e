/** The examples as a user has them after a copy and `npm install`: the built package and their dependencies. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installed, packageIn } from '../installed-package.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

interface Manifest {
  readonly bin?: string | Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** Outside of the project, so that nothing is found which an example does not ask for. */
export class Installed {
  readonly #home = mkdtempSync(join(tmpdir(), 'modelhost-sim-examples-'))
  readonly #package = join(this.#home, 'modelhost-sim')

  /** Puts there what npm would publish, beside its dependencies. */
  build(): void {
    cpSync(packageIn(installed()), this.#package, { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(this.#package, 'node_modules'))
  }

  /** A copy of an example with the packages that it asks for; returns its folder. */
  copy(example: string, as = example): string {
    const folder = join(this.#home, as)
    cpSync(join(ROOT, 'examples', example), folder, { recursive: true })
    const asked = existsSync(join(folder, 'package.json')) ? manifestOf(folder).devDependencies : undefined
    for (const name of Object.keys(asked ?? { 'modelhost-sim': '' })) {
      const target = name === 'modelhost-sim' ? this.#package : join(ROOT, 'node_modules', name)
      const link = join(folder, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(target, link)
      this.#linkCommands(folder, name, target)
    }
    return folder
  }

  #linkCommands(folder: string, name: string, target: string): void {
    const { bin = {} } = manifestOf(target)
    const commands = typeof bin === 'string' ? { [name.replace(/^.*\//, '')]: bin } : bin
    for (const [command, path] of Object.entries(commands)) {
      const link = join(folder, 'node_modules/.bin', command)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(join(target, path), link)
      if (target === this.#package) chmodSync(join(target, path), 0o755)
    }
  }

  remove(): void {
    rmSync(this.#home, { recursive: true, force: true })
  }
}

export interface Ended {
  readonly code: number | null
  /** What it said, on both of its streams. */
  readonly said: string
}

/** Runs a command in a folder, as a user would in a terminal. */
export function runIn(folder: string, command: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = start(folder, command, env)
  let said = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', data => {
      said += data
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, said }))
  })
}

/** Starts one, which leads a group of processes so that it can be ended with all that it starts. */
export function start(
  folder: string,
  [command, ...args]: readonly string[],
  env: Record<string, string>,
): ChildProcess {
  // A test runner of the example's own must not take itself for a part of this one.
  const inherited = Object.entries(process.env).filter(
    ([name]) =>
      !/^(VITEST|TEST$|MODE$|PROD$|DEV$|SSR$|NODE_|npm_|JEST_|TINYPOOL_|MODELHOST_SIM_|FORCE_COLOR$|CI$)/.test(name),
  )
  return spawn(command!, args, {
    cwd: folder,
    env: { ...Object.fromEntries(inherited), NO_COLOR: '1', npm_config_offline: 'true', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
}

/** Returns a port on which no process listens. */
export function freePort(): Promise<string> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(String(typeof address === 'object' && address?.port)))
    })
  })
}
