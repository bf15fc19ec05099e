/** docs/judge.md shows the report about the `openai` package as it is printed, and each rule as it is declared. */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { formatJudgement } from '../../src/simulator/judge/text.ts'
import { tryOpenai } from './openai-at-trial.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2031, 4, 1) })
  // The package adds a random share to its pauses.
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test('the report about the openai package is the one that docs/judge.md shows', { tags: 'slow' }, async () => {
  const { version } = JSON.parse(readFileSync('node_modules/openai/package.json', 'utf8')) as { version: string }
  const page = readFileSync('docs/judge.md', 'utf8')
  expect(page).toContain(`The package \`openai\` ${version.split('.', 2).join('.')} was judged`)
  await using sim = await tryOpenai()
  const report = formatJudgement(sim.judge())
  process.stdout.write(report)
  expect(page).toContain(`\`\`\`text\n${report}\`\`\`\n`)
})
