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
    (await world.command(`/_sim/explain/${encodeURIComponent(subject)}`, undefined, 'GET')).body as Explanation
  return { ...world, explain }
}

test('one command leads from a refused chat over five links back to the request that broke a zone', async () => {
  const { sim, ask, command, server, explain } = await served()
  const body = JSON.stringify({ model: 'acme/chat', messages: [{ role: 'user', content: 'Hello.' }] })
  const answer = ask('/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await expect.poll(() => sim.pendingRequests.length).toBe(1)
  await command('/_sim/commands', { verb: 'zone.down', target: 'east-a' })
  expect((await answer).status).toBe(503)
  const { seq } = sim.requests.at(-1)!
  const { code, stdout } = await commanded(['explain', String(seq), '--url', server.url])
  expect(code).toBe(0)
  const lines = stdout.split('\n')
  expect(lines[0]).toBe('request 1')
  expect((await explain('request 1')).sentences).toEqual((await explain(seq)).sentences)
  const unknown = await command('/_sim/explain/request%202', undefined, 'GET')
  expect([unknown.status, unknown.body.error]).toEqual([404, expect.stringContaining('Give one of 1 to 1.')])
  const causes = lines.slice(lines.indexOf('Causes, the nearest first:') + 1).filter(line => line.startsWith('  '))
  const sentences = causes.map(line => line.replace(/^ {2}\S+ #\d+ /, ''))
  expect(sentences).toEqual([
    "A client sent the request 'POST /v1/chat/completions' (createChatCompletion). It got the status 503.",
    expect.stringMatching(/^The answer chatcmpl-\w+ broke\. The reason is 'zone east-a is down'\.$/),
    `The instance ${ID}-0 was lost. The reason is 'zone east-a is down'. It was ready before.`,
    'The zone east-a went down, and all of its nodes are lost.',
    "The control plane received the request 'POST /_sim/commands' (giveCommand). It got the status 200.",
  ])
  expect(stdout).toContain('  The chain begins with a request to the control plane.\n')
})

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

test('no explanation over HTTP has an API token', { tags: 'slow' }, async () => {
  const { sim, ask, explain } = await served()
  await ask(`/v1/api-tokens/${sim.token}`)
  const { seq } = sim.requests.at(-1)!
  const text = JSON.stringify(await explain(seq))
  expect(text).not.toContain(sim.token)
  expect(text).toContain(`…${sim.token.slice(-4)}`)
  expect(JSON.stringify(await explain(sim.token))).not.toContain(sim.token)
})

test('the command without a subject says what is missing', async () => {
  const missing = await commanded(['explain'])
  expect(missing.stderr).toContain('Give it, as in: modelhost-sim explain h100-0')
})
