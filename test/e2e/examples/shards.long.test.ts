/** The recipes of examples/shards: their command lines are run, with the variables that the launchers set. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { writeColdStart } from '../cold-start.ts'
import { Installed, runIn } from './installed.ts'

const installed = new Installed()
beforeAll(() => installed.build(), 120_000)
afterAll(() => installed.remove())

/** The recipes play thousands of seeds; two for each process are enough here. */
const FEW_SEEDS = '1..16'
/** Fails with every seed. */
const FAILING = `
import { scenario } from 'modelhost-sim/scenario'
export default scenario('nothing starts', {}, ({ check }) => check({ status: 'failed' }, { status: 'running' }))
`
const SHARDS = [1, 2, 3, 4, 5, 6, 7, 8]

let folder: string
let copies = 0
beforeEach(() => {
  folder = installed.copy('shards', `shards-${++copies}`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeColdStart(folder)
})

const recipe = (name: string) => readFileSync(join(folder, name), 'utf8').replaceAll(/1\.\.\d+/g, FEW_SEEDS)
/** Runs a line of a recipe in a shell, with `npx` left out: it takes longer than the command. */
const shell = (line: string, env: Record<string, string> = {}) =>
  runIn(folder, ['bash', '-e', '-o', 'pipefail', '-c', line.replaceAll('npx ', 'node_modules/.bin/')], env)

interface Step {
  readonly name?: string
  readonly run?: string
  readonly env?: Readonly<Record<string, string>>
  readonly with?: { readonly name?: string; readonly path?: string; readonly pattern?: string }
}
interface Action {
  readonly inputs: Readonly<Record<string, object>>
  readonly runs: { readonly steps: readonly Step[] }
}
interface Workflow {
  readonly jobs: {
    readonly shard: {
      readonly strategy: { readonly matrix: { readonly shard: readonly number[] } }
      readonly steps: readonly { readonly uses: string; readonly with?: Readonly<Record<string, string>> }[]
    }
    readonly merge: { readonly if: string; readonly needs: string; readonly steps: readonly Step[] }
  }
}

test('GitHub Actions: the jobs of the matrix, and the job that joins their artifacts', async () => {
  const { shard, merge } = (parse(recipe('github-actions.yml')) as Workflow).jobs
  const step = (steps: readonly Step[], name: string) => steps.find(one => one.name === name)!.run!
  expect(shard.strategy.matrix.shard).toEqual(SHARDS)
  expect([merge.if, merge.needs]).toEqual(['always()', 'shard'])
  const { inputs, runs } = parse(recipe('action.yml')) as Action
  const given = shard.steps.find(({ uses }) => uses === './.github/actions/shard')!.with!
  expect(Object.keys(given)).toEqual(Object.keys(inputs))
  const play = runs.steps.find(({ name }) => name === 'Run the shard')!
  const upload = runs.steps.find(one => one.with?.path === 'results')!
  const artifacts = join(folder, 'artifacts')
  for (const number of SHARDS) {
    const values: Record<string, string> = { 'matrix.shard': `${number}`, 'strategy.job-total': `${SHARDS.length}` }
    const fill = (text: string) => text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, name: string) => values[name]!)
    for (const [name, value] of Object.entries(given)) values[`inputs.${name}`] = fill(value)
    const env = Object.fromEntries(Object.entries(play.env!).map(([name, value]) => [name, fill(value)]))
    // Each job has a machine of its own.
    rmSync(join(folder, 'results'), { recursive: true, force: true })
    expect(await shell(play.run!, env)).toMatchObject({ code: 0 })
    cpSync(join(folder, upload.with!.path!), join(artifacts, fill(upload.with!.name!)), { recursive: true })
  }
  const download = merge.steps.find(one => one.with?.pattern !== undefined)!.with!
  expect([download.pattern, download.path]).toEqual(['results-*', 'results'])
  rmSync(join(folder, 'results'), { recursive: true })
  cpSync(artifacts, join(folder, 'results'), { recursive: true })
  const joined = await shell(step(merge.steps, 'Join the results'))
  expect(joined).toMatchObject({ code: 0, said: expect.stringContaining('Complete: 16 of 16\n') })

  rmSync(join(folder, 'results/results-5'), { recursive: true })
  expect(await shell(step(merge.steps, 'Join the results'))).toMatchObject({ code: 3 })
}, 120_000)

interface Job {
  readonly spec: {
    readonly completionMode?: string
    readonly completions?: number
    readonly podFailurePolicy?: {
      readonly rules: readonly {
        readonly action: string
        readonly onExitCodes?: { readonly values: readonly number[] }
      }[]
    }
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly command: readonly string[]
          readonly env?: readonly { readonly name: string; readonly value: string }[]
        }[]
      }
    }
  }
}

test('Kubernetes: the pods of the Indexed Job, and the one that joins their results', async () => {
  const { spec } = parse(recipe('kubernetes.yaml')) as Job
  const [container] = spec.template.spec.containers
  expect(spec.completionMode).toBe('Indexed')
  expect(container!.env).toEqual([{ name: 'SHARD_COUNT', value: String(spec.completions) }])
  const line = (command: readonly string[]) => command.join(' ').replaceAll('/results', 'results')
  const pod = (index: number) =>
    shell(line(container!.command), { JOB_COMPLETION_INDEX: String(index), SHARD_COUNT: String(SHARDS.length) })
  expect((await Promise.all(SHARDS.map(number => pod(number - 1)))).map(({ code }) => code)).toEqual(
    SHARDS.map(() => 0),
  )
  const merge = (parse(recipe('kubernetes-merge.yaml')) as Job).spec.template.spec.containers[0]!.command
  expect(await shell(line(merge))).toMatchObject({ code: 0, said: expect.stringContaining('Complete: 16 of 16\n') })

  // A finding ends its index with the code that the policy knows.
  writeFileSync(join(folder, 'scenarios/story.js'), FAILING)
  rmSync(join(folder, 'results'), { recursive: true })
  const failed = await pod(3)
  expect(spec.podFailurePolicy!.rules.map(({ onExitCodes }) => onExitCodes?.values)).toEqual([undefined, [failed.code]])
}, 120_000)

test('Slurm: the processes of the job array, and the command that joins their results', async () => {
  const script = recipe('slurm.sh')
  expect(script).toContain('#SBATCH --array=1-8\n')
  const task = (number: number) => {
    const range = { SLURM_ARRAY_TASK_COUNT: '8', SLURM_ARRAY_TASK_MIN: '1', SLURM_ARRAY_TASK_STEP: '1' }
    return shell(script, { SLURM_ARRAY_TASK_ID: String(number), ...range })
  }
  expect((await Promise.all(SHARDS.map(task))).map(({ code }) => code)).toEqual(SHARDS.map(() => 0))
  const merge = /--wrap='(.*)'$/m.exec(script)![1]!
  expect(await shell(merge)).toMatchObject({ code: 0, said: expect.stringContaining('Complete: 16 of 16\n') })
}, 120_000)
