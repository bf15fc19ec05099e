/** The blocks of code of a page, and processes that run them as a reader does: with the package installed. */
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { afterAll, onTestFinished } from 'vitest'
import { installed, packageIn } from '../installed-package.ts'

const run = promisify(execFile)

export interface Block {
  readonly language: string
  readonly code: string
  /** The first line of the code. */
  readonly opening: string
}

/** Returns the fenced blocks of a page in order, without their indentation. Throws if a block names no language. */
export function blocksOf(path: string): Block[] {
  const found = [...readFileSync(path, 'utf8').matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)]
  return found.map(([, indentation, language, indented]) => {
    const code = indented!.replaceAll(new RegExp(`^${indentation}`, 'gm'), '')
    if (language === '') throw new Error(`${path}: a block of code without a language: ${code}`)
    return { language: language!, code, opening: code.split('\n', 1)[0]! }
  })
}

/** Returns the code of the one block of a page that contains a text. */
export function blockWith(blocks: readonly Block[], text: string): string {
  const found = blocks.filter(({ code }) => code.includes(text))
  if (found.length !== 1) throw new Error(`${found.length} blocks contain '${text}'`)
  return found[0]!.code
}

/** Runs TypeScript of a page with Node, with the package installed; resolves with what it printed. */
export async function runTypeScript(name: string, code: string): Promise<string> {
  const folder = join(installed(), 'pages-run')
  mkdirSync(folder, { recursive: true })
  const file = join(mkdtempSync(join(folder, 'run-')), `${name}.mjs`)
  // A loader of TypeScript would take longer than the code of the page.
  writeFileSync(file, transformSync(code, { loader: 'ts', target: 'node20.19' }).code)
  try {
    const { stdout } = await run(process.execPath, [file])
    return stdout
  } finally {
    rmSync(dirname(file), { recursive: true, force: true })
  }
}

/** A folder in which the package is installed, and what runs there. */
export class ReaderFolder {
  readonly path: string
  readonly #bin: string

  constructor() {
    const home = installed()
    this.#bin = join(packageIn(home), 'bin/modelhost-sim.js')
    mkdirSync(join(home, 'readers'), { recursive: true })
    this.path = mkdtempSync(join(home, 'readers', 'reader-'))
  }

  /** Creates a folder that is removed after all tests of a file. */
  static ofTests(): ReaderFolder {
    const folder = new ReaderFolder()
    afterAll(() => folder.remove())
    return folder
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }

  write(name: string, text: string): string {
    const path = join(this.path, name)
    writeFileSync(path, text)
    return path
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), 'utf8')
  }

  /** Runs JavaScript with Node; resolves with what it printed. */
  async script(code: string): Promise<string> {
    const path = this.write(`script-${process.hrtime.bigint()}.mjs`, code)
    const { stdout } = await run(process.execPath, [path], { cwd: this.path })
    return stdout
  }

  /** Runs a line `npx modelhost-sim …`; resolves with what it printed and its exit code. */
  async command(line: string): Promise<{ readonly stdout: string; readonly stderr: string; readonly code: number }> {
    const words = line.trim().match(/"[^"]*"|\S+/g) ?? []
    const [npx, name, ...args] = words.map(word => word.replaceAll('"', ''))
    if (npx !== 'npx' || name !== 'modelhost-sim')
      throw new Error(`Failed to run '${line}': it is not a command of ours.`)
    try {
      return { ...(await run(process.execPath, [this.#bin, ...args], { cwd: this.path })), code: 0 }
    } catch (error) {
      const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number }
      return { stdout, stderr, code }
    }
  }

  /** Starts a server on a free port for the length of a test; resolves with its host and port. */
  async server(args: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, [this.#bin, ...args, '--port', '0'], { cwd: this.path })
    onTestFinished(() => void child.kill('SIGKILL'))
    return new Promise((resolve, reject) => {
      let banner = ''
      child.stdout.on('data', chunk => {
        banner += String(chunk)
        const address = /http:\/\/(127\.0\.0\.1:\d+)/.exec(banner)?.[1]
        if (address !== undefined && banner.includes('curl')) resolve(address)
      })
      child.stderr.on('data', chunk => {
        banner += String(chunk)
      })
      child.once('exit', () => reject(new Error(`the server ended: ${banner}`)))
    })
  }

  /** Runs lines of a shell in which `curl` fails on a refusal, against a server at another address than the page has. */
  async shell(code: string, address: string): Promise<string> {
    const script = code.replaceAll('127.0.0.1:4010', address).replaceAll(/^curl /gm, 'curl -sS --fail ')
    const { stdout } = await run('sh', ['-ec', script], { cwd: this.path })
    return stdout
  }
}
