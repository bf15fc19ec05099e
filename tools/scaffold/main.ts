/**
 * `npm run new:endpoint`, `new:fault` and `new:scenario`: write a declaration that works, its test, and every file that
 * follows from it. Invalid input ends with code 2, and no file changes.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, type Scaffold } from './declarations.ts'
import { assertKnown, InputError } from './input.ts'

const USAGE = {
  endpoint: `npm run new:endpoint -- listVoices 'GET /v1/voices' --summary "List voices"`,
  fault: 'npm run new:fault -- slowBody --summary "The body slowly"',
  scenario: 'npm run new:scenario -- money/card-expires --teaches "A card can expire." --client "Reads its mail."',
}

try {
  const plan = await planOf(process.argv.slice(2))
  for (const { path, text } of plan.files) {
    writeFileSync(join(ROOT, path), text, { flag: 'wx' })
    console.log(`wrote ${path}`)
  }
  run('node_modules/@biomejs/biome/bin/biome', ['format', '--write', ...plan.files.map(({ path }) => path)], 'ignore')
  if (plan.recorded !== undefined) run('bin/modelhost-sim.js', ['run', plan.recorded, '--update'], 'inherit')
  run('tools/scaffold/generate.ts', [], 'inherit')
  console.log(`\nNext:\n${plan.next.map((step, i) => `${i + 1}. ${step}`).join('\n')}`)
} catch (error) {
  if (!(error instanceof InputError)) throw error
  console.error(error.message)
  process.exitCode = 2
}

async function planOf([kind = '', ...args]: readonly string[]): Promise<Scaffold> {
  assertKnown('scaffold', kind, Object.keys(USAGE))
  const { values: flags, positionals } = parse(kind as keyof typeof USAGE, args)
  if (kind === 'endpoint') return (await import('./endpoint.ts')).planEndpoint(positionals, flags)
  if (kind === 'fault') return (await import('./fault.ts')).planFault(positionals, flags)
  return (await import('./scenario.ts')).planScenario(positionals, flags)
}

function parse(kind: keyof typeof USAGE, args: string[]) {
  const names = kind === 'scenario' ? ['teaches', 'client'] : ['summary']
  const options = Object.fromEntries(names.map(name => [name, { type: 'string' as const }]))
  const { tokens, values, positionals } = parseArgs({
    args,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  for (const token of tokens) if (token.kind === 'option') assertKnown('flag', token.name, names)
  const positions = kind === 'endpoint' ? 2 : 1
  if (positionals.length > positions)
    throw new InputError(
      `Failed to read the arguments: unknown argument '${positionals[positions]}'. Use: ${USAGE[kind]}`,
    )
  return { values: values as Readonly<Record<string, string>>, positionals }
}

function run(script: string, args: readonly string[], output: 'inherit' | 'ignore'): void {
  const node = [...process.execArgv, join(ROOT, script), ...args]
  const { status } = spawnSync(process.execPath, node, { cwd: ROOT, stdio: ['ignore', output, 'inherit'] })
  if (status !== 0) throw new Error(`Failed to run ${script} ${args.join(' ')}: exit code ${status}.`)
}
