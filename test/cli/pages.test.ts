/** Pages of commands, refused before anything runs. test/e2e/pages opens those that are written. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type RunArguments, run } from '../../src/cli/commands/run.ts'
import { simulate } from '../../src/cli/commands/simulate.ts'
import { exploreFlows } from '../../src/cli/explore/explore-flows.ts'
import { HOUR } from '../../src/kernel/duration.ts'
import { temporaryFolderOfTests } from '../setup/temporary-folder.ts'
import { commandOutput } from './command-output.ts'

const folder = temporaryFolderOfTests()

/** Returns what a command says, whether it throws it or writes it. */
async function refusalOf(command: (io: ReturnType<typeof commandOutput>['output']) => Promise<number>) {
  const { written, output } = commandOutput()
  const thrown = await command(output).then(
    code => (code === 2 ? '' : `exit code ${code}`),
    (error: Error) => error.message,
  )
  return { out: written.out, said: thrown + written.error }
}

const played = (args: RunArguments) => refusalOf(output => run(args, { ...output, folder: process.cwd() }))

const COMMANDS = {
  run: (html: string) => played({ scenarios: ['scenarios/deploy/cold-start.ts'], html }),
  simulate: (html: string) =>
    refusalOf(output => simulate({ fixtures: 'empty', profile: 'realistic', seed: '1', for: HOUR, html }, output)),
  explore: (html: string) =>
    refusalOf(output => exploreFlows({ flows: ['nothing.ts'], html }, { ...output, folder: process.cwd() })),
}

describe.each(Object.entries(COMMANDS))('%s --html', (_, command) => {
  test.each([
    ['a folder that is missing', join(folder, 'none/page.html'), "there is no folder '"],
    ['a folder', folder, 'it is a folder'],
    ['a file of another type', join(folder, 'page.txt'), 'Give a file that ends in .html.'],
  ])('refuses %s before anything runs', async (_, html, problem) => {
    const { out, said } = await command(html)
    expect([out, said.trimEnd().split('\n')]).toEqual(['', [expect.stringContaining(problem)]])
    expect(said).toContain(`Failed to write --html '${html}'`)
    expect(existsSync(join(folder, 'page.txt'))).toBe(false)
  })
})

test.each<[string, RunArguments, string]>([
  ['several scenarios', { scenarios: ['scenarios/deploy'] }, 'scenarios match, and a page has one'],
  ['several seeds', { scenarios: ['scenarios/deploy/cold-start.ts'], seeds: ['1', '2'] }, '--seeds is for other plays'],
])('%s is refused for run --html', { tags: 'slow' }, async (_, args, problem) => {
  const html = join(folder, 'refused.html')
  expect((await played({ ...args, html })).said).toContain(problem)
  expect(existsSync(html)).toBe(false)
})

test('explore says why it wrote no page', { tags: 'slow' }, async () => {
  const flow = join(folder, 'careful.mjs')
  const request = "fetch(url + '/v1/models', { headers, signal: AbortSignal.timeout(30_000) })"
  writeFileSync(
    flow,
    `export default async ({ fetch, url, token }) => {
  const headers = { authorization: 'Bearer ' + token }
  const answer = await ${request}
  if (!answer.ok) throw new Error('status ' + answer.status)
  return 'the models are there'
}
`,
  )
  const html = join(folder, 'clean.html')
  const args = { flows: [flow], html, faults: 'singles' } as const
  const { said } = await refusalOf(output => exploreFlows(args, { ...output, folder: process.cwd() }))
  expect(said).toContain(`No page: ${html} shows the first new finding, and none was found.`)
  expect(existsSync(html)).toBe(false)
})
