/**
 * `npm run check`: types, format and lint, the rules of `rules.ts`, unused code, the package as published, its types for
 * the compilers of users, and the report of public types.
 *
 * `--fast` applies the rules of `rules.ts` alone, in a second. `--api` checks the types and writes the report of public
 * types alone, also if it finds errors.
 */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageIn } from '../../test/e2e/installed-package.ts'
import { reportApi } from './api-report.ts'
import { type Finding, ROOT } from './files.ts'
import { COMPILATIONS, findUnusedEntries, layOutProject, lintPackage, OWN_CONDITION, readManifest } from './package.ts'
import { compile } from './program.ts'
import { applyRules, type RuleFindings } from './rules.ts'

const API_REPORT = join(ROOT, 'tools/api/modelhost-sim.api.md')
const PACKAGE = join(ROOT, '.tmp/check/package')
/** Within the repository, so that the dependencies of the package are found. */
const PROJECT = join(ROOT, '.tmp/check/project')

const { values: flags } = parseArgs({
  options: {
    fast: { type: 'boolean', default: false },
    api: { type: 'boolean', default: false },
  },
})

const isComplete = !flags.fast && !flags.api
const formatting = isComplete ? run('@biomejs/biome/bin/biome', ['check', '--colors=off', '.']) : undefined
const unusedCode = isComplete ? run('knip/bin/knip.js', ['--no-progress', '--reporter', 'json']) : undefined

const types = join(ROOT, '.tmp/check/types')
const { found, warnings }: RuleFindings = flags.api ? { found: {}, warnings: [] } : applyRules()
if (flags.api) {
  found['type errors'] = compile(types)
  writeFileSync(API_REPORT, reportPublicTypes())
} else if (formatting && unusedCode) {
  // The build runs in another process during the compilation.
  const building = run('tsx/dist/cli.mjs', ['tools/tidy/build-package.ts'])
  for (const folder of [PACKAGE, types]) rmSync(folder, { recursive: true, force: true })
  found['type errors'] = compile(types)
  found['differences of public types'] = checkApi()
  const build = await building
  if (build.code === 0) {
    cpSync(packageIn(build.output), PACKAGE, { recursive: true })
    const { bundleTypes } = await import(join(ROOT, 'tools/build/bundle-types.js'))
    await bundleTypes(types, join(PACKAGE, 'dist/types'))
    layOutProject(PROJECT, PACKAGE)
    found['errors of the package'] = await lintPackage(packageIn(PROJECT))
    found['type errors of users'] = [...findUnusedEntries(), ...(await compileUsers())]
  } else found['errors of the package'] = [build.output]
  const { output, code } = await formatting
  found['files with format or lint errors'] = code === 0 ? [] : [output]
  found['unused exports, files and packages'] = unusedFindings((await unusedCode).output)
}

for (const [name, findings] of Object.entries(found)) {
  for (const finding of findings) console.log(finding)
  console.log(`${name} ${findings.length}`)
}
for (const warning of warnings) console.log(`warning: ${warning}`)
const failed = Object.keys(found).filter(name => found[name]!.length > 0)
if (failed.length > 0) {
  console.error(`Failed to pass the check: ${failed.join(', ')}. Fix the findings that are listed above each count.`)
  process.exitCode = 1
}

/** Starts a tool by its script, relative to node_modules. */
function run(script: string, args: readonly string[]): Promise<{ output: string; code: number | null }> {
  const path = createRequire(import.meta.url)
    .resolve('typescript')
    .replace(/typescript[\\/]lib.*$/, script)
  const child = spawn(process.execPath, [path, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  child.stderr.on('data', chunk => (output += chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ output: output.trim(), code }))
  })
}

/** Compiles the programs of a user with the packed package. */
async function compileUsers(): Promise<Finding[]> {
  const compiling = COMPILATIONS.map(async ([compiler, config]) => {
    const { output, code } = await run(`${compiler}/bin/tsc`, ['--pretty', 'false', '-p', join(PROJECT, config)])
    return code === 0 ? [] : output.split(/\n(?=\S)/).map(error => `${compiler}, ${config}: ${error}`)
  })
  return (await Promise.all(compiling)).flat()
}

/** Reports the public types from the declarations of each module. */
function reportPublicTypes(): string {
  const { name, exports } = readManifest()
  const entries = Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === 'object'
      ? [[name + entry.slice(1), target[OWN_CONDITION].replace(/^\.\/src\/(.*)\.ts$/, '$1.d.ts')]]
      : [],
  )
  return reportApi(Object.fromEntries(entries), path => readFileSync(join(types, path), 'utf8'))
}

function checkApi(): Finding[] {
  const report = reportPublicTypes()
  const committed = existsSync(API_REPORT) ? readFileSync(API_REPORT, 'utf8') : ''
  if (report !== committed) {
    const lines = new Set(committed.split('\n'))
    const added = report.split('\n').filter(line => !lines.has(line))
    const kept = new Set(report.split('\n'))
    const removed = committed.split('\n').filter(line => !kept.has(line))
    const changes = [...removed.map(line => `- ${line}`), ...added.map(line => `+ ${line}`)]
    // A type of many names is one line of thousands of characters.
    const shown = changes
      .slice(0, 40)
      .map(line => (line.length > 300 ? `${line.slice(0, 300)}…` : line))
      .join('\n')
    return [
      `tools/api/modelhost-sim.api.md differs from the public types. Write it with 'npm run api' and review its diff:\n${shown}`,
    ]
  }
  return []
}

function unusedFindings(json: string): Finding[] {
  try {
    const { issues } = JSON.parse(json) as { issues: Record<string, unknown>[] }
    return issues.flatMap(issue =>
      Object.entries(issue).flatMap(([kind, found]) =>
        kind === 'owners' || !Array.isArray(found)
          ? []
          : found.map(({ name }: { name: string }) => `${issue.file}: unused ${kind}: ${name}`),
      ),
    )
  } catch {
    return [`Failed to run knip: ${json}`]
  }
}
