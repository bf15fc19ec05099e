/** `expect(flow).toSurvive()`: what passes, what a failure prints, and how it is repeated. */
import { explore, type FaultClassName, flow } from 'modelhost-sim/explore'
import { expect, test } from 'modelhost-sim/vitest'
import leaky from '../explore/flows/leaky.ts'
import quiet from '../explore/flows/quiet.ts'

async function failureOf(assertion: Promise<unknown>): Promise<string> {
  return assertion.then(
    () => expect.unreachable('it passed'),
    error => (error as Error).message,
  )
}

test('a flow that no single fault breaks passes, and fails with not', async () => {
  await expect(quiet).toSurvive()
  await expect(quiet).toSurvive({ faults: 'pairs', classes: ['reset', 'empty'] })
  expect(await failureOf(expect(quiet).not.toSurvive())).toMatch(
    /^expected 'quiet' to break, and nothing broke it in \d+ runs, \d+ faults\n/,
  )
})

test('a leak fails with its plan and its reason, and the printed line repeats it', async () => {
  const classes: readonly FaultClassName[] = ['resetDone']
  const text = await failureOf(expect(leaky).toSurvive({ classes }))
  expect(text).toMatch(/^expected 'leaky' to survive, and \d+ things break it \(\d+ runs, \d+ faults\):\n {2}/)
  expect(text).toContain('\n  noLeak@createLlmDeployment/error\n    What happened: The deployment ')
  const [, plan] = /noLeak@[\s\S]*?Repeat: await expect\(flow\)\.toSurvive\(\{"plan":(.*)\}\)/.exec(text)!
  expect(JSON.parse(plan!)).toMatchObject([{ fault: { on: 'createLlmDeployment' } }])
  const again = await failureOf(expect(leaky).toSurvive({ plan: JSON.parse(plan!) }))
  expect(again).toContain('noLeak@createLlmDeployment/error')
  // The same plan breaks nothing in a client without that request.
  await expect(quiet).toSurvive({ plan: JSON.parse(plan!) })
})

test('known signatures pass, and an invariant of the test counts beside those of the flow', async () => {
  const { findings } = await explore(leaky, { faults: 'singles', classes: ['html'] })
  await expect(leaky).toSurvive({ classes: ['html'], known: findings.map(({ signature }) => signature) })
  const reads = flow('reads', { invariants: { calm: () => undefined } }, quiet.run)
  const invariants = { noAnswer: () => 'it never holds' }
  expect(await failureOf(expect(reads).toSurvive({ classes: ['html'], invariants }))).toContain('noAnswer@')
  await expect(leaky).toSurvive({ plan: [], invariants: { spendsAtMost: 5 } })
})

test('a mistake fails whether or not the flow is expected to survive', async () => {
  const mistakes: [Promise<unknown>, string][] = [
    [expect(7).toSurvive(), 'Failed to explore: the flow is neither a function nor a result of flow(…).'],
    [expect(quiet).not.toSurvive({ faults: 'single' as never }), "unknown faults 'single'. Did you mean 'singles'?"],
    [
      expect(quiet).toSurvive({ clases: [] } as never),
      "Failed to call toSurvive: unknown option 'clases'. Did you mean 'classes'?",
    ],
    [expect(quiet).toSurvive({ classes: ['rset' as never] }), "unknown class 'rset'. Did you mean 'reset'?"],
    [expect(quiet).toSurvive({ invariants: { noLeek: true } }), "unknown invariant 'noLeek'. Did you mean 'noLeak'?"],
    [expect(quiet).toSurvive({ plan: [{ crash: -1 }] }), 'Failed to call toSurvive: plan[0].crash: '],
  ]
  for (const [assertion, message] of mistakes) expect(await failureOf(assertion)).toContain(message)
})

test.each([
  [
    () => flow('', {}, () => {}),
    "Failed to declare a flow: its name is missing. Give a text of one line, as in 'deploy'.",
  ],
  [() => flow('a', {}, undefined as never), "Failed to declare the flow 'a': options or function are missing."],
  [() => flow('a', { fixture: 'empty' } as never, () => {}), "unknown option 'fixture'. Did you mean 'fixtures'?"],
  [() => flow('a', { invariants: { noLeek: false } }, () => {}), "unknown invariant 'noLeek'. Did you mean 'noLeak'?"],
])('a flow with a mistake is refused when it is declared: %#', (declare, message) => {
  expect(declare).toThrow(message)
})
