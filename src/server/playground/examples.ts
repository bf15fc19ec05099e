/** The examples of the playground. Each is the body of an async function. */

export interface Example {
  readonly title: string
  /** What it shows, in a sentence. */
  readonly says: string
  readonly code: string
}

export const EXAMPLES: readonly [Example, ...Example[]] = [
  {
    title: 'Deploy a model',
    says: 'A deployment starts on a cold node. Its time passes when the clock is moved, and not before.',
    code: `const model = { model_name: 'acme/new', hub: { repo: 'acme/chat-8b' }, gpu: 'H100-80GB', num_gpus: 1 }
const { deploy_id } = await post('/deploy/llm', model)
const { sentences } = await get('/_sim/explain/' + deploy_id)
print(sentences.join('\\n'))

await post('/_sim/clock/advance', { by: '20m' })
const { status } = await get('/deploy/' + deploy_id)
print('after 20 minutes:', status)
`,
  },
  {
    title: 'Stream an answer',
    says: 'A running deployment answers as OpenAI does. The same seed gives the same tokens.',
    code: `const answer = await post('/v1/chat/completions', {
  model: 'acme/assistant',
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
  max_tokens: 20,
  stream: true,
})
const events = answer.split('\\n').filter(line => line.startsWith('data: {'))
const chunks = events.map(line => JSON.parse(line.slice(6)))
print(events.length, 'events:', chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''))
`,
  },
  {
    title: 'Crash a node',
    says: 'An instance is lost with its node. The cluster replaces it elsewhere, which takes time and money.',
    code: `const model = { model_name: 'acme/new', hub: { repo: 'acme/chat-8b' }, gpu: 'H100-80GB', num_gpus: 1 }
const { deploy_id } = await post('/deploy/llm', model)
await post('/_sim/clock/advance', { by: '20m' })

const { name } = await get('/_sim/cluster/deployments/' + deploy_id + '/node')
await post('/_sim/commands', { verb: 'node.crash', target: name })
print(name, 'crashes with an instance of', deploy_id)

const { counts } = await post('/_sim/clock/advance', { by: '30m' })
for (const [kind, count] of Object.entries(counts)) print(count, kind)
`,
  },
  {
    title: 'Refuse two requests',
    says: 'A fault rule changes what a client gets. The third request is answered as if nothing had been.',
    code: `await post('/_sim/faults', {
  on: 'listDeployments',
  times: 2,
  fault: { kind: 'rateLimit', retryAfter: '3s' },
})
for (let attempt = 1; attempt <= 3; attempt++) {
  const { status } = await send('GET', '/deploy/list')
  print('attempt', attempt, 'got', status)
}
`,
  },
  {
    title: 'Fork a world',
    says: 'A fork goes on from the same state. What happens to one world does not happen to the other.',
    code: `const { world } = await post('/_sim/worlds', { from: 'default' })
const [first] = await get('/deploy/list')
await post('/_sim/worlds/' + world + '/deploy/' + first.deploy_id + '/stop')

for (const base of ['', '/_sim/worlds/' + world]) {
  await post(base + '/_sim/clock/advance', { by: '1h' })
  const { status } = await get(base + '/deploy/' + first.deploy_id)
  print(base === '' ? 'default' : world, status)
}
`,
  },
]
