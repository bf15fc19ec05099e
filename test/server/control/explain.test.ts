/** Explanations over HTTP and on the command line. */
import { expect, test } from 'vitest'
import type { Explanation } from '../../../src/index.ts'
import { explain as explainHere } from '../../../src/simulator/explain/explain.ts'
import { commanded } from '../../cli/commanded.ts'
import { running } from '../http/running-server.ts'

const ID = 'Chat000000000001'

async function served() {
  const deployments = [{ deploy_id: ID, model_name: 'acme/chat' }]
  const world = await running({ fixtures: 'two-nodes', with: { deployments }, inferencePace: 'clock' })
  const explain = async (subject: string | number) =>
    (await world.read(`/_sim/explain/${encodeURIComponent(subject)}`)) as Explanation
  return { ...world, explain }
}

test('the same explanation comes in the process, over HTTP and as JSON of the command', async () => {
  const { sim, explain, server } = await served()
  sim.cluster.node('h100-0').crash()
  const overHttp = await explain(ID)
  const printed = await commanded(['explain', ID, '--json', '--url', server.url])
  expect(JSON.parse(printed.stdout)).toEqual(overHttp)
  expect(explainHere(sim, ID)).toEqual(overHttp)
  expect(await explain('acme/chat')).toMatchObject({ subject: ID })
})

test('an explanation is left out of the journal, and an unknown subject is refused', async () => {
  const { sim, command, server } = await served()
  const { last } = sim.world.journal
  const answer = await command('/_sim/explain/h10-0', undefined, 'GET')
  expect(answer.status).toBe(404)
  expect(answer.body.error).toBe("Failed to explain 'h10-0': unknown id. Did you mean 'h100-0'?")
  expect((await command('/_sim/explain/7', undefined, 'GET')).body.error).toContain('the journal is empty')
  expect(sim.world.journal.last).toBe(last)
  const refused = await commanded(['explain', 'h10-0', '--url', server.url])
  expect([refused.code, refused.stderr]).toEqual([2, `${answer.body.error}\n`])
})

test('the command without a subject says what is missing', async () => {
  const missing = await commanded(['explain'])
  expect(missing.stderr).toContain('Give it, as in: modelhost-sim explain h100-0')
})
