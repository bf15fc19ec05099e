import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { run } from '../../src/cli/commands/run.ts'
import { Progress } from '../../src/cli/progress.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { wall } from '../setup/wall-clock.ts'

beforeEach(() => {
  wall.now = 0
})

test.each([
  [false, '30 of 60, about 3 s left\n45 of 60, about 3 s left\n'],
  [
    true,
    '\r[###############...............] 30 of 60, about 3 s left\u001b[K' +
      '\r[####################..........] 40 of 60, about 2 s left\u001b[K' +
      '\r[######################........] 45 of 60, about 3 s left\u001b[K\r\u001b[K',
  ],
])('a long command shows its progress after two seconds; on a terminal: %s', (isTerminal, expected) => {
  let printed = ''
  const error = (text: string) => {
    printed += text
  }
  const progress = new Progress({ error, isTerminal })
  for (const [at, done] of [
    [1000, 20],
    [3000, 30],
    [3050, 31],
    [4000, 40],
    [8500, 45],
  ] as const) {
    wall.now = at
    progress.update(`${done} of 60`, done, 60)
  }
  progress.clear()
  expect(printed).toBe(expected)
})

test('progress without an end has no bar', () => {
  let printed = ''
  const progress = new Progress({ error: text => (printed += text), isTerminal: true })
  wall.now = 3000
  progress.update('3 runs')
  expect(printed).toBe('\r3 runs\u001b[K')
})

test('run removes its progress before each result', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'a.yaml'), 'title: one\ngiven: { fixtures: empty }\nsteps:\n  - advance: 1m\n')
  const shown: string[] = []
  const code = await run(
    { scenarios: ['.'], seeds: ['2', '3', '4', '5'], workers: 1 },
    {
      out: () => void shown.push('result'),
      error: text => void shown.push(text),
      isTerminal: true,
      playing: () => {
        wall.now! += 3000
      },
      folder,
    },
  )
  expect(code).toBe(0)
  expect(shown[0]).toContain('[#######.......................] 1 of 4 played, about ')
  expect(shown[shown.indexOf('result') - 1]).toBe('\r\u001b[K')
})

test('a text whose numbers grow is written once', () => {
  let printed = ''
  const progress = new Progress({ error: text => (printed += text), isTerminal: false })
  wall.now = 3000
  for (const runs of [1, 2]) progress.say(`${runs} of 9 runs waited.`, 'waited')
  expect(printed).toBe('1 of 9 runs waited.\n')
})
