/** The modules that the package evaluates with their first use: files beside the bundle. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { installed } from './installed-package.ts'

const { deferredChunksOf, extractBuiltins, toDeferredFile } = await import(resolve('tools/build/defer-modules.js'))

/** Returns what a script prints as JSON. It runs in a project that has the package, and can call `filesRead()`. */
function run(script: string, ...flags: readonly string[]): unknown {
  const head = `
    const fs = process.getBuiltinModule('node:fs')
    const read = []
    const { readFileSync } = fs
    fs.readFileSync = (file, ...options) => {
      const name = /\\/deferred\\/library-(.*)-\\w+\\.js$/.exec(String(file))?.[1]
      if (name !== undefined) read.push(name)
      return readFileSync(file, ...options)
    }
    const filesRead = () => read.splice(0)
    const { createSimulator } = await import('modelhost-sim')`
  const args = [...flags, '--input-type=module', '-e', `${head}\n${script}`]
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: installed(), encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

const LIST = "await sim.fetch('http://sim/deploy/list', { headers: { authorization: 'Bearer ' + sim.token } })"

test('a deferred module is evaluated with its first use, and once', () => {
  const [imported, created, first, second, voices, explained, filled] = run(`
    const steps = [filesRead()]
    const sim = createSimulator()
    steps.push(filesRead())
    ${LIST}
    steps.push(filesRead())
    ${LIST}
    steps.push(filesRead())
    ${LIST.replace('/deploy/list', '/v1/voices')}
    steps.push(filesRead())
    sim.explain('account')
    steps.push(filesRead())
    createSimulator({ fill: { deployments: 100 } })
    steps.push(filesRead())
    console.log(JSON.stringify(steps))`) as string[][]
  expect(imported).toEqual([])
  expect(created).toEqual([])
  expect(first).toContain('deployments')
  expect(first).not.toContain('voices')
  expect(second).toEqual([])
  expect(voices).toContain('voices')
  expect(explained).toContain('explain')
  // It has faker in it.
  expect(filled).toContain('bulk-records')
})

test('the document of the package is that of the source, also where text may not be evaluated', async () => {
  const script = `
    const { createHash } = await import('node:crypto')
    const document = await (await createSimulator().fetch('http://sim/openapi.json')).text()
    console.log(JSON.stringify(createHash('sha256').update(document).digest('hex')))`
  const document = await (await createSimulator().fetch('http://sim/openapi.json')).text()
  const expected = createHash('sha256').update(document).digest('hex')
  expect(run(script)).toBe(expected)
  expect(run(script, '--disallow-code-generation-from-strings')).toBe(expected)
})

const output = (imports: readonly { kind: string }[] = []) => ({
  entryPoint: 'src/x.ts',
  imports,
  inputs: {},
  exports: [],
})
const codeFor = (chunk: string, exported?: string) => `${chunk}:${exported}`

test('a deferred file is a function of what its chunk imports', () => {
  const code =
    'import{a,b as c}from"./one.js";import"./two.js";import{join}from"node:path";var d=a+c;export{d as sum};\n'
  expect(toDeferredFile(code, output(), codeFor, String)).toEqual({
    text: 'export default function(a,c,$effect2){const {join:join}=process.getBuiltinModule("node:path");var d=a+c;return{sum:d}}\n',
    imports: '()=>[one.js:a,one.js:b,two.js:undefined]',
  })
  const lazy = 'var x=__deferred(()=>import("./three.js")),y=()=>import("yaml");export{x,y};\n'
  expect(deferredChunksOf(lazy)).toEqual(['three.js'])
  const dynamic = { kind: 'dynamic-import' }
  expect(toDeferredFile(lazy, output([dynamic, dynamic]), codeFor, () => '$module3')).toEqual({
    text: 'export default function($module3,$import){var x=$module3,y=()=>$import("yaml");return{x:x,y:y}}\n',
    imports: '()=>[$module3,$import]',
  })
})

test('a chunk that imports a package, or loads something in a hidden way, cannot be deferred', () => {
  const fail = (code: string) => () => toDeferredFile(code, output(), codeFor, String)
  expect(fail('import{http}from"msw";export{http};')).toThrow(
    `Failed to defer src/x.ts: it has 'import{http}from"msw"'.`,
  )
  expect(fail('var x=()=>import("yaml");export{x};')).toThrow('1 of 0 dynamic imports are found')
  expect(extractBuiltins('import{http}from"msw";').rest).toBe('import{http}from"msw";')
})
