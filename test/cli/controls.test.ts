/** Texts of clients with control characters, on which a terminal would act. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exploreFlows } from '../../src/cli/explore/explore-flows.ts'
import { formatFinding } from '../../src/cli/shards/play.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { commandOutput } from './command-output.ts'

function fileOf(name: string, text: string): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const RED = String.raw`\u001b[31m`
const CONTROL = /(?!\n)\p{Cc}/u

test('explore prints an error of a client escaped', { tags: 'slow' }, async () => {
  const flow = fileOf(
    'client.mjs',
    `export default async ({ fetch, url, token }) => {
  const answer = await fetch(url + '/v1/models', { headers: { authorization: 'Bearer ' + token } })
  if (!answer.ok) throw new TypeError('bad ${RED}')
}`,
  )
  const { written, output } = commandOutput()
  await exploreFlows({ flows: [flow], faults: 'singles' }, { ...output, folder: process.cwd() })
  expect(written.out).toContain(`bad ${RED}`)
  expect(written.out).not.toMatch(CONTROL)
})

test('a finding of several seeds is printed escaped', () => {
  const finding = { test: 'a', signature: '\u001b[31m', count: 1, firstSeed: '1', words: 'bad \u009b', replay: '' }
  expect(formatFinding(finding as never)).not.toMatch(CONTROL)
})
