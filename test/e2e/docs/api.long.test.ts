/** docs/api.md names every export of the package, and every member of its main interfaces. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { exportsOf, membersOf } from './declarations.ts'
import { blocksOf, runTypeScript } from './page-blocks.ts'

const page = readFileSync('docs/api.md', 'utf8')
const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, { 'modelhost-sim-source': string }>
}
const entries = Object.entries(exports).flatMap(([entry, { 'modelhost-sim-source': source }]) =>
  source === undefined ? [] : [[entry.replace('.', 'modelhost-sim'), source] as const],
)

/** Returns the text below a heading, up to the next heading of its level or above. */
function sectionOf(heading: string): string {
  const level = /^#+/.exec(heading)![0].length
  return page.split(`\n${heading}\n`)[1]!.split(new RegExp(`\n#{1,${level}} `))[0]!
}

/** Returns the names in the first cells of the tables of a section. */
function namesIn(section: string): string[] {
  const cells = [...section.matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell!)
  return cells.flatMap(cell => [...cell.matchAll(/`(\[?[\w.]+\]?)(?:\(.*?\))?`/g)].map(([, name]) => name!))
}

test.each(entries)('docs/api.md names every export of %s', (entry, source) => {
  const section = sectionOf(`## \`${entry}\``)
  const tables = ['Functions', 'Errors', 'Types']
    .map(name => `### ${name}`)
    .filter(name => section.includes(`\n${name}\n`))
  const names =
    tables.length > 0 ? tables.flatMap(name => namesIn(sectionOf(name))) : namesIn(section.split('\n### ')[0]!)
  expect([...new Set(names)].sort()).toEqual(exportsOf(source))
})

test.each([
  ['`SimulatorOptions`', 'src/simulator/options.ts', 'SimulatorOptions'],
  ['`Simulator`', 'src/simulator/simulator-interface.ts', 'Simulator'],
  ['`ExplorableSimulator`', 'src/workbench/explore/explorable-simulator.ts', 'ExplorableSimulator'],
  ['`RequestEvidence`', 'src/simulator/requests/evidence.ts', 'RequestEvidence'],
  ['`sim.cluster`', 'src/simulation/operations/cluster-api.ts', 'ClusterControls'],
  ['`NodeControls`', 'src/simulation/operations/cluster-api.ts', 'NodeControls'],
  ['`NodeView`', 'src/simulation/fleet/nodes.ts', 'NodeView'],
  ['`sim.faults`', 'src/simulator/faults/fault-controls.ts', 'FaultControls'],
  ['`sim.inference`', 'src/service/openai/scripted-answers.ts', 'InferenceControls'],
  ['`HandlerOptions`', 'src/workbench/testing/msw.ts', 'HandlerOptions'],
  ['`RunOptions`', 'src/workbench/scenario/play/run-scenario.ts', 'RunOptions'],
  ['`Result`', 'src/workbench/scenario/play/run-scenario.ts', 'Result'],
])('docs/api.md lists the members of %s', (heading, source, name) => {
  expect(namesIn(sectionOf(`### ${heading}`)).sort()).toEqual(membersOf(source, name).sort())
})

test('docs/api.md lists members that the clock has', () => {
  const members = membersOf('src/simulator/clock/simulator-clock.ts', 'SimulatorClock')
  const listed = namesIn(sectionOf('### `sim.clock`'))
  expect(listed.length).toBeGreaterThan(15)
  expect(listed.filter(name => !members.includes(name))).toEqual([])
})

test('the code of docs/api.md prints what its comment says', async () => {
  const [block] = blocksOf('docs/api.md')
  const printed = await runTypeScript('api', block!.code)
  expect(printed.trim()).toBe(/\/\/ (.*)/.exec(block!.code)![1])
})
