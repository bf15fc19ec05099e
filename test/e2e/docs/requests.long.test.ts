/** docs/requests.md: every block of code is run with the package installed, and prints what the page shows. */
import { expect, test } from 'vitest'
import { blocksOf, blockWith, ReaderFolder } from './page-blocks.ts'

const blocks = blocksOf('docs/requests.md')
const folder = ReaderFolder.ofTests()

test('has the blocks that are run below, and no other', () => {
  expect(blocks.map(({ language, opening }) => `${language} ${opening}`)).toEqual([
    "ts import { createSimulator } from 'modelhost-sim'",
    'text 2026-01-01T00:10:00.000000+00:00 getDeployment 404 no deployment unknown',
    'sh npx modelhost-sim serve --clock manual',
    "sh curl '127.0.0.1:4010/_sim/requests?operation=get*,list*&status=4xx,5xx&from=10m'",
    'ts const { ok, message } = sim.verify([',
    'text false',
    `sh curl --json '{"expect": [{"operation": "getMe"}, {"operation": "listVoices"}], "inOrder": true}' 127.0.0.1:4010/_sim/verify`,
    'sh npx modelhost-sim serve --clock manual',
    'sh curl -X POST 127.0.0.1:4010/_sim/past',
    `sh curl --json '{"from": "default", "before_request": 1}' 127.0.0.1:4010/_sim/worlds`,
    "sh curl -N '127.0.0.1:4010/_sim/events?after=start&follow=false&kind=deployment.*,request'",
    "sh curl -N '127.0.0.1:4010/_sim/events?after=start&follow=false&form=columns'",
    "ts import { createSimulator } from 'modelhost-sim'",
  ])
})

test('lists and verifies requests with the output that it shows', async () => {
  const printed = await folder.script(`${blocks[0]!.code}${blockWith(blocks, 'sim.verify')}`)
  expect(printed).toBe(`${blocks[1]!.code}${blocks[5]!.code}`)
})

test('asks a server for its requests, their verification and its events', async () => {
  const address = await folder.server(['serve', '--clock', 'manual'])
  const headers = { authorization: 'Bearer sim_default_token' }
  for (const path of ['/v1/me', '/v1/voices', '/deploy/unknown']) await fetch(`http://${address}${path}`, { headers })
  await fetch(`http://${address}/_sim/clock/advance`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"by":"10m"}' },
  })
  await fetch(`http://${address}/deploy/unknown`, { headers })
  const listed = JSON.parse(await folder.shell(blockWith(blocks, '/_sim/requests?'), address))
  expect(listed).toMatchObject({ matched: 1, requests: [{ operation: 'getDeployment', status: 404 }] })
  expect(JSON.parse(await folder.shell(blockWith(blocks, '/_sim/verify'), address))).toMatchObject({ ok: true })
  const events = await folder.shell(blockWith(blocks, '&kind=deployment.*'), address)
  expect(events.match(/^event: request$/gm)).toHaveLength(4)
  const columns = await folder.shell(blockWith(blocks, '&form=columns'), address)
  const groups = [...columns.matchAll(/^event: requests\ndata: (.*)$/gm)]
  expect(groups.flatMap(([, data]) => JSON.parse(data!).requests)).toHaveLength(4)
  expect(columns).toMatch(/^event: entries\ndata: \{"epoch":"2026-01-01T00:00:00.000000\+00:00","seq":\[/m)
})

test('shows what was sent and answered, and sends it again in a world of the past', async () => {
  const address = await folder.server(['serve', '--clock', 'manual'])
  const [, ...shown] = (await folder.shell(blockWith(blocks, '/_sim/requests/1'), address))
    .trim()
    .split(/(?<=\})(?=\[|\{)|(?<=\])(?=\{)/)
  const first = JSON.parse(shown.at(-1)!)
  expect(first).toMatchObject({ seq: 1, path: '/v1/voices', answer: { status: 200 }, reason: null })
  const again = JSON.parse(
    (await folder.shell(blockWith(blocks, 'before_request'), address)).replace(/^.*?\}(?=\{)/, ''),
  )
  expect(again).toMatchObject({ status: 200, body: first.answer.body })
})

test('controls a simulator with the typed client', async () => {
  const printed = await folder.script(blockWith(blocks, 'modelhost-sim/client'))
  expect(printed.trim().split('\n').at(-1)).toBe('node.crashed h100-0')
})
