/** Imports scripts in TypeScript and JavaScript. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { escapeRegExp } from '../../../lib/patterns.ts'
import { eventLoopTurn } from '../../../lib/real-time.ts'
import { importWithFetch } from '../../explore/run/saved-fetch.ts'

/** A scenario that cannot be loaded: a missing file, a file without scenarios, a syntax error. */
export class LoadError extends Error {
  override readonly name = 'LoadError'
}

/**
 * Imports a script in TypeScript or JavaScript.
 *
 * @throws LoadError that names the file and, as far as it is known, the line
 */
export async function importScript(file: string, folder: string): Promise<Record<string, unknown>> {
  const settled = new AbortController()
  const { exit } = process
  process.exit = (...code) => {
    // Who keeps this function can use it later.
    if (settled.signal.aborted) return exit(...code)
    throw new Error('it calls process.exit while it is loaded')
  }
  try {
    // A script in JavaScript can import TypeScript, which Node 20 does not read.
    const needsTsx = /\.m?ts$/.test(file) || !('typescript' in process.features)
    if (needsTsx || typeof IS_CLONE !== 'undefined') await registerTsx()
    if (needsTsx) registerModuleHook(file)
    // Without work, a module that waits does so for ever, and the process would end without a word.
    const idle = once(process, 'beforeExit', settled).then(() => {
      throw new Error('a top-level await in it or in its imports never ends')
    })
    return await importWithFetch(() => Promise.race([import(/* @vite-ignore */ pathToFileURL(file).href), idle]))
  } catch (error) {
    // Node 20 also rejects a promise of its own with the error of an imported file of CommonJS.
    const rejectOther = (reason: unknown) => {
      if (reason !== error) throw reason
    }
    process.on('unhandledRejection', rejectOther)
    await eventLoopTurn()
    process.off('unhandledRejection', rejectOther)
    const name = relative(folder, file)
    throw new LoadError(`Failed to load ${name}: ${describeLoadError(error, file, name, folder)}`, { cause: error })
  } finally {
    settled.abort()
    process.exit = exit
  }
}

/** Defined in the bundle of a clone: a script finds this package as TypeScript. */
declare const IS_CLONE: true

/** Loader of TypeScript, registered with the first script that needs it. */
let typeScriptLoader: Promise<unknown> | undefined
let isModuleHookRegistered = false

async function registerTsx(): Promise<void> {
  // If this module was loaded as TypeScript, a loader is registered already, unless Node read it. Node itself finds no
  // file for an import without an ending, which the clients of many projects have.
  if (!import.meta.url.endsWith('.ts') || 'typescript' in process.features) {
    typeScriptLoader ??= import('tsx/esm/api').then(({ register }) => register())
    await typeScriptLoader
  }
}

function registerModuleHook(file: string): void {
  if (isModuleHookRegistered || isModule(file)) return
  isModuleHookRegistered = true
  if (registerHooks === undefined) nodeModule.register(`data:text/javascript,${encodeURIComponent(MODULE_HOOK_SOURCE)}`)
  else registerHooks({ resolve: (specifier, context, next) => asModule(next(specifier, context)) })
}

interface Found {
  readonly url: string
}

/** Missing in Node 20. Node 26 warns of `register`. */
const { registerHooks } = nodeModule as {
  registerHooks?(hooks: {
    resolve(specifier: string, context: object, next: (specifier: string, context: object) => Found): Found
  }): void
}

/** Without `"type": "module"` in the project, Node would load .ts files as CommonJS. Scenarios are always modules. */
function asModule(found: Found): Found {
  return /\.ts(\?|$)/.test(found.url) && !found.url.includes('/node_modules/')
    ? ({ ...found, format: 'module' } as Found)
    : found
}

const MODULE_HOOK_SOURCE = `const asModule = ${asModule}
export const resolve = async (specifier, context, next) => asModule(await next(specifier, context))`

function isModule(file: string): boolean {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest)) return /"type"\s*:\s*"module"/.test(readFileSync(manifest, 'utf8'))
    if (folder === dirname(folder)) return false
  }
}

function describeLoadError(error: unknown, file: string, name: string, folder: string): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}. Fix it.`
  const { code } = error as { code?: string }
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') {
    if (/'modelhost-sim(\/|')/.test(error.message)) {
      return (
        "it imports 'modelhost-sim', which is not installed in its project. " +
        'Install it there as step 1 of docs/tutorial.md does.'
      )
    }
    return `${relativePaths(error.message, folder)}. Fix that import.`
  }
  const line = /ERROR: (.*)/.exec(error.message)?.[1] ?? error.message.split('\n')[0]!
  const reason = relativePaths(line, folder).replace(/\.$/, '')
  const commonJs = findCommonJs(error.message, file, name)
  if (commonJs !== undefined) {
    return `${commonJs} is CommonJS, because its package.json has no "type": "module". Rename it to .mjs, or add "type": "module".`
  }
  const isSyntax = error.name === 'SyntaxError' || /Transform failed/.test(error.message)
  const text = `${error.message}\n${error.stack ?? ''}`
  const own = positionIn(text, file)
  const imported = own === undefined ? placeOfImported(text, folder) : undefined
  const place = own ?? (isSyntax && imported === undefined ? syntaxErrorPosition(file) : undefined)
  const what = isSyntax ? `syntax error: ${reason}` : reason
  const sentence = /[.!?]$/.test(what) ? what : `${what}.`
  if (place !== undefined) return `${name}:${place}: ${sentence} Fix that line.`
  return imported === undefined ? `${sentence} Fix it.` : `${imported}: ${sentence} Fix it there.`
}

/** Returns the name of the .js file with the syntax of modules that Node read as CommonJS. */
function findCommonJs(message: string, file: string, name: string): string | undefined {
  const imported = /requested module '([^']+\.js)' does not provide an export/.exec(message)?.[1]
  if (imported !== undefined) {
    const path = join(dirname(file), imported)
    const isOurs = imported.startsWith('.') && existsSync(path) && /^export /m.test(readFileSync(path, 'utf8'))
    return isOurs && !isModule(path) ? `'${imported}'` : undefined
  }
  const isStatement = /Unexpected token 'export'|Cannot use import statement/.test(message)
  return isStatement && file.endsWith('.js') && !isModule(file) ? name : undefined
}

/** Returns the line and column of a file in the text of an error. */
function positionIn(text: string, file: string): string | undefined {
  const paths = [file, pathToFileURL(file).href].map(escapeRegExp)
  return new RegExp(`(?:${paths.join('|')}):(\\d+(?::\\d+)?)`).exec(text)?.[1]
}

/**
 * Returns the file of the project that an error names first, relative to a folder, with its line if that is known. TSX
 * gives Node 20 a file of CommonJS as one long line.
 */
function placeOfImported(text: string, folder: string): string | undefined {
  const homes = [
    `${pathToFileURL(folder).href}/`,
    `${folder}${sep}`,
    `filePath=${encodeURIComponent(`${folder}${sep}`)}`,
  ]
  const place = new RegExp(`(?:${homes.map(escapeRegExp).join('|')})([^\\s:]+)(:\\d+(?::\\d+)?)`).exec(text)
  if (place === null || /node_modules|\.tmp/.test(place[1]!)) return undefined
  return place[0].startsWith('filePath=') ? decodeURIComponent(place[1]!) : `${place[1]}${place[2]}`
}

/** Returns the position of a syntax error in JavaScript. Node prints it only when it reports the error itself. */
function syntaxErrorPosition(file: string): string | undefined {
  const input = readFileSync(file)
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--check', '-'], { input, encoding: 'utf8' })
  const [, line, indent] = /^\[stdin\]:(\d+)\n.*\n( *)\^/.exec(stderr) ?? []
  return line && `${line}:${indent!.length + 1}`
}

function relativePaths(text: string, folder: string): string {
  return text.replaceAll(`${pathToFileURL(folder).href}/`, '').replaceAll(`${folder}${sep}`, '')
}
